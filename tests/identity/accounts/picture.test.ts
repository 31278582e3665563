import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { pictureType } from '#services/identity/accounts/picture.ts';
import {
  jpeg,
  jpegWith,
  png,
  pngChunk,
  pngEnd,
  pngHeader,
  pngPixels,
  pngSignature,
  webp,
  webpExtended,
  webpLossless,
  webpLossy,
} from './pictures.ts';

const script = Buffer.from('<script>alert(1)</script>');
const comment = pngChunk('tEXt', Buffer.from('Comment\0made by hand'));

const pictures = [
  ['a PNG', png(), 'image/png'],
  ['a PNG with a comment', png(comment), 'image/png'],
  ['a JPEG', jpeg, 'image/jpeg'],
  ['a JPEG with a comment', jpegWith(0xfe, Buffer.from('made by hand')), 'image/jpeg'],
  ['a lossy WebP', webpLossy, 'image/webp'],
  ['a lossless WebP', webpLossless, 'image/webp'],
  ['a WebP with metadata', webpExtended, 'image/webp'],
] as const;

describe('a picture is told by its bytes', () => {
  test.each(pictures)('%s', (_what, bytes, type) => expect(pictureType(bytes)).toBe(type));
});

describe('what is a picture and something else is none', () => {
  test.each(pictures)('%s with a script after its end', (_what, bytes) =>
    expect(pictureType(Buffer.concat([bytes, script]))).toBeNull(),
  );
  test.each(pictures)('%s with a script before its start', (_what, bytes) =>
    expect(pictureType(Buffer.concat([script, bytes]))).toBeNull(),
  );
  test.each(pictures)('%s with an archive after its end', (_what, bytes) =>
    expect(pictureType(Buffer.concat([bytes, Buffer.from('PK\u0005\u0006')]))).toBeNull(),
  );
  test.each(pictures)('%s with a second one after it', (_what, bytes) =>
    expect(pictureType(Buffer.concat([bytes, bytes]))).toBeNull(),
  );

  test.each([
    ['a script between two parts of a PNG', png(script)],
    ['a PNG whose part has another checksum', flipped(png(comment), 60)],
    ['a PNG that begins with another part', Buffer.concat([pngSignature, comment, png()])],
    ['a PNG with two headers', png(pngHeader(1, 1))],
    ['a PNG without pixels', Buffer.concat([pngSignature, pngHeader(1, 1), pngEnd])],
    ['a PNG without an end', Buffer.concat([pngSignature, pngHeader(1, 1), pngPixels])],
    ['a JPEG that is a text first', Buffer.concat([Buffer.from('GIF89a=0;'), jpeg])],
    ['a JPEG with a script between two segments', inserted(jpeg, 20, script)],
    ['a JPEG without a frame', Buffer.from('ffd8ffd9', 'hex')],
    ['a WebP with a part of no known kind', webp(['VP8X', Buffer.alloc(10)], ['HTML', script])],
    ['a WebP without a frame', webp(['VP8X', Buffer.alloc(10)])],
    ['a WebP with two frames and no canvas', webp(lossyFrame(), lossyFrame())],
    ['a sound in the same container', webp(['fmt ', Buffer.alloc(16)], ['data', script])],
    ['an SVG', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script/></svg>')],
    ['an SVG after a declaration', Buffer.from('<?xml version="1.0"?><svg/>')],
    ['a GIF', Buffer.from('R0lGODlhAQABAAAAACwAAAAAAQABAAACAkQBADs=', 'base64')],
    ['a PDF', Buffer.from('%PDF-1.7\n')],
    ['a page', Buffer.from('<!doctype html>')],
    ['nothing', Buffer.alloc(0)],
  ])('%s', (_what, bytes) => expect(pictureType(bytes)).toBeNull());

  test.each([
    ['a PNG', Buffer.concat([pngSignature, pngHeader(20_000, 20_000), pngPixels, pngEnd])],
    ['a JPEG', withSides(jpeg, 20_000)],
  ])('%s that clawbacks more pixels than a browser should hold', (_what, bytes) =>
    expect(pictureType(bytes)).toBeNull(),
  );
});

test('a picture that was cut anywhere is none, and no bytes at all make it fail', () => {
  for (const [, bytes] of pictures)
    for (let length = 0; length < bytes.length; length += 1)
      expect(pictureType(bytes.subarray(0, length))).toBeNull();
  const starts = fc.constantFrom(...pictures.map(([, bytes]) => bytes));
  fc.assert(
    fc.property(starts, fc.nat(200), fc.uint8Array({ maxLength: 300 }), (start, kept, rest) => {
      const bytes = Buffer.concat([start.subarray(0, kept), rest]);
      expect(['image/png', 'image/jpeg', 'image/webp', null]).toContain(pictureType(bytes));
    }),
  );
});

function lossyFrame(): readonly [string, Buffer] {
  return ['VP8 ', webpLossy.subarray(20)];
}

function flipped(bytes: Buffer, at: number): Buffer {
  const copy = Buffer.from(bytes);
  copy[at] = copy[at]! ^ 1;
  return copy;
}

function inserted(bytes: Buffer, at: number, more: Buffer): Buffer {
  return Buffer.concat([bytes.subarray(0, at), more, bytes.subarray(at)]);
}

function withSides(bytes: Buffer, side: number): Buffer {
  const copy = Buffer.from(bytes);
  const frame = copy.indexOf(Buffer.from('ffc9', 'hex'));
  copy.writeUInt16BE(side, frame + 5);
  copy.writeUInt16BE(side, frame + 7);
  return copy;
}
