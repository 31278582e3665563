import { crc32, deflateSync } from 'node:zlib';

/** Small pictures as encoders write them, and the parts to make others of. */
export function pngChunk(kind: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(kind, 'latin1'), data]);
  const frame = Buffer.alloc(8);
  frame.writeUInt32BE(data.length, 0);
  frame.writeUInt32BE(crc32(body), 4);
  return Buffer.concat([frame.subarray(0, 4), body, frame.subarray(4)]);
}

export const pngSignature = Buffer.from('89504e470d0a1a0a', 'hex');

export function pngHeader(width: number, height: number): Buffer {
  const data = Buffer.from('00000000000000000802000000', 'hex');
  data.writeUInt32BE(width, 0);
  data.writeUInt32BE(height, 4);
  return pngChunk('IHDR', data);
}

export const pngPixels = pngChunk('IDAT', deflateSync(Buffer.from('00ff0000', 'hex')));
export const pngEnd = pngChunk('IEND', Buffer.alloc(0));

/** One red pixel, and whatever stands between the header and it. */
export function png(...between: Buffer[]): Buffer {
  return Buffer.concat([pngSignature, pngHeader(1, 1), ...between, pngPixels, pngEnd]);
}

export const jpeg = Buffer.from(
  '/9j/4AAQSkZJRgABAQEAYABgAAD/2wBDAAMCAgICAgMCAgIDAwMDBAYEBAQEBAgGBgUGCQgKCgkICQkKDA8MCgsOCwkJDRENDg8Q' +
    'EBEQCgwSExIQEw8QEBD/yQALCAABAAEBAREA/8wABgAQEAX/2gAIAQEAAD8A0s8g/9k=',
  'base64',
);

/** With a segment of this kind right after the start. */
export function jpegWith(kind: number, data: Buffer): Buffer {
  const segment = Buffer.alloc(4);
  segment.writeUInt16BE(0xff00 + kind, 0);
  segment.writeUInt16BE(data.length + 2, 2);
  return Buffer.concat([jpeg.subarray(0, 2), segment, data, jpeg.subarray(2)]);
}

export const webpLossless = Buffer.from(
  'UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA==',
  'base64',
);
export const webpLossy = Buffer.from(
  'UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA',
  'base64',
);

export function webp(...chunks: readonly (readonly [kind: string, data: Buffer])[]): Buffer {
  const body = Buffer.concat([
    Buffer.from('WEBP', 'latin1'),
    ...chunks.flatMap(([kind, data]) => {
      const length = Buffer.alloc(4);
      length.writeUInt32LE(data.length, 0);
      return [Buffer.from(kind, 'latin1'), length, data, Buffer.alloc(data.length % 2)];
    }),
  ]);
  const size = Buffer.alloc(4);
  size.writeUInt32LE(body.length, 0);
  return Buffer.concat([Buffer.from('RIFF', 'latin1'), size, body]);
}

/** The frame of `webpLossy` behind a canvas, as a picture with metadata has it. */
export const webpExtended = webp(
  ['VP8X', Buffer.alloc(10)],
  ['VP8 ', webpLossy.subarray(20)],
  ['EXIF', Buffer.from('Exif')],
);
