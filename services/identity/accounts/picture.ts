import { crc32 } from 'node:zlib';
import type { avatarLimits } from '#services/identity/contract.ts';

/**
 * Tells a picture by its bytes, without decoding it: the magic number, then every part that the
 * format is made of, up to the very last byte. A file that is a picture and something else as well
 * usually hides the other half before the magic number, between two parts or after the end; such
 * files are refused. What a part holds, the pixels, is left to the browser, which is told the type
 * and to believe nothing else.
 */
export type PictureType = (typeof avatarLimits.mediaTypes)[number];

/** The type of a picture that is one from its first to its last byte; null for anything else. */
export function pictureType(bytes: Buffer): PictureType | null {
  if (isPng(bytes)) return 'image/png';
  if (isJpeg(bytes)) return 'image/jpeg';
  if (isWebp(bytes)) return 'image/webp';
  return null;
}

/** Pixels: small files can unfold to pictures that take a browser's memory. */
const longestSide = 4_096;

function hasFittingSize(width: number, height: number): boolean {
  return width > 0 && height > 0 && width <= longestSide && height <= longestSide;
}

// --- PNG (ISO/IEC 15948): a signature, then chunks of length, type, data and checksum ---

const pngSignature = Buffer.from('89504e470d0a1a0a', 'hex');

function isPng(bytes: Buffer): boolean {
  if (!bytes.subarray(0, 8).equals(pngSignature)) return false;
  const kinds: string[] = [];
  for (let at = 8; at < bytes.length;) {
    const chunk = pngChunk(bytes, at);
    if (chunk === null) return false;
    const isFirst = kinds.length === 0;
    if (isFirst !== (chunk.kind === 'IHDR')) return false;
    if (isFirst && !isPngHeader(chunk.data)) return false;
    kinds.push(chunk.kind);
    at = chunk.end;
    if (chunk.kind === 'IEND') return at === bytes.length && kinds.includes('IDAT');
  }
  return false;
}

function pngChunk(bytes: Buffer, at: number): { kind: string; data: Buffer; end: number } | null {
  if (at + 12 > bytes.length) return null;
  const end = at + 12 + bytes.readUInt32BE(at);
  if (end > bytes.length) return null;
  const kind = bytes.toString('latin1', at + 4, at + 8);
  const isIntact = crc32(bytes.subarray(at + 4, end - 4)) === bytes.readUInt32BE(end - 4);
  return /^[A-Za-z]{4}$/.test(kind) && isIntact
    ? { kind, data: bytes.subarray(at + 8, end - 4), end }
    : null;
}

function isPngHeader(data: Buffer): boolean {
  return data.length === 13 && hasFittingSize(data.readUInt32BE(0), data.readUInt32BE(4));
}

// --- JPEG (ITU-T T.81): segments, and compressed data after each start of a scan ---

const marker = { start: 0xd8, end: 0xd9, scan: 0xda } as const;

function isJpeg(bytes: Buffer): boolean {
  if (bytes.length < 4 || bytes.readUInt16BE(0) !== 0xff00 + marker.start) return false;
  let frames = 0;
  let scans = 0;
  for (let at = 2; at + 2 <= bytes.length;) {
    if (bytes[at] !== 0xff) return false;
    const kind = bytes[at + 1] ?? 0;
    if (kind === marker.end) return at + 2 === bytes.length && frames === 1 && scans > 0;
    const segment = jpegSegment(bytes, at);
    if (segment === null) return false;
    if (isFrame(kind)) {
      if (!isJpegFrame(segment.data)) return false;
      frames += 1;
    }
    if (kind === marker.scan) scans += 1;
    at = kind === marker.scan ? endOfScan(bytes, segment.end) : segment.end;
  }
  return false;
}

/** A segment with its length; null where only data, a restart or a second picture could stand. */
function jpegSegment(bytes: Buffer, at: number): { data: Buffer; end: number } | null {
  const kind = bytes[at + 1] ?? 0;
  const hasLength = kind >= 0xc0 && kind < 0xff && !(kind >= 0xd0 && kind <= marker.end);
  if (!hasLength || at + 4 > bytes.length) return null;
  const length = bytes.readUInt16BE(at + 2);
  const end = at + 2 + length;
  return length < 2 || end > bytes.length ? null : { data: bytes.subarray(at + 4, end), end };
}

/** C0–CF but for the three that are tables and extensions. */
function isFrame(kind: number): boolean {
  return kind >= 0xc0 && kind <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(kind);
}

function isJpegFrame(data: Buffer): boolean {
  return data.length >= 6 && hasFittingSize(data.readUInt16BE(3), data.readUInt16BE(1));
}

/** In compressed data FF is followed by 00, or by the number of a restart. */
function endOfScan(bytes: Buffer, from: number): number {
  let at = from;
  for (;;) {
    at = bytes.indexOf(0xff, at);
    if (at < 0) return bytes.length;
    const next = bytes[at + 1] ?? 0xff;
    if (next !== 0 && !(next >= 0xd0 && next <= 0xd7)) return at;
    at += 2;
  }
}

// --- WebP (RFC 9649): a RIFF file of chunks that are padded to even lengths ---

const webpChunks: ReadonlySet<string> = new Set([
  'VP8 ',
  'VP8L',
  'VP8X',
  'ALPH',
  'ANIM',
  'ANMF',
  'ICCP',
  'EXIF',
  'XMP ',
]);

function isWebp(bytes: Buffer): boolean {
  const isRiff = bytes.toString('latin1', 0, 4) === 'RIFF';
  if (!isRiff || bytes.length < 20 || bytes.toString('latin1', 8, 12) !== 'WEBP') return false;
  if (bytes.readUInt32LE(4) + 8 !== bytes.length) return false;
  const kinds: string[] = [];
  for (let at = 12; at < bytes.length;) {
    const chunk = webpChunk(bytes, at);
    if (chunk === null || !isWebpChunk(chunk)) return false;
    kinds.push(chunk.kind);
    at = chunk.end;
  }
  return hasWebpOrder(kinds);
}

type WebpChunk = { kind: string; data: Buffer; end: number };

function webpChunk(bytes: Buffer, at: number): WebpChunk | null {
  if (at + 8 > bytes.length) return null;
  const length = bytes.readUInt32LE(at + 4);
  const end = at + 8 + length + (length % 2);
  return end > bytes.length
    ? null
    : {
        kind: bytes.toString('latin1', at, at + 4),
        data: bytes.subarray(at + 8, at + 8 + length),
        end,
      };
}

function isWebpChunk({ kind, data }: WebpChunk): boolean {
  if (kind === 'VP8 ') return isLossyFrame(data);
  if (kind === 'VP8L') return isLosslessFrame(data);
  if (kind === 'VP8X') return isCanvas(data);
  return webpChunks.has(kind);
}

function isLossyFrame(data: Buffer): boolean {
  const starts = data.length >= 10 && data.readUIntBE(3, 3) === 0x9d012a;
  return starts && hasFittingSize(data.readUInt16LE(6) & 0x3fff, data.readUInt16LE(8) & 0x3fff);
}

function isLosslessFrame(data: Buffer): boolean {
  if (data.length < 5 || data[0] !== 0x2f) return false;
  const sizes = data.readUInt32LE(1);
  return hasFittingSize((sizes & 0x3fff) + 1, ((sizes >>> 14) & 0x3fff) + 1);
}

function isCanvas(data: Buffer): boolean {
  return data.length === 10 && hasFittingSize(data.readUIntLE(4, 3) + 1, data.readUIntLE(7, 3) + 1);
}

/** One plain frame and nothing else, or a canvas first and a frame somewhere after it. */
function hasWebpOrder(kinds: readonly string[]): boolean {
  const [first, ...rest] = kinds;
  if (first !== 'VP8X') return rest.length === 0 && (first === 'VP8 ' || first === 'VP8L');
  return !rest.includes('VP8X') && rest.some((kind) => ['VP8 ', 'VP8L', 'ANMF'].includes(kind));
}
