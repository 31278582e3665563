import { createHash, randomBytes } from 'node:crypto';

/**
 * Identifiers: a letter prefix and 26 characters of Crockford base32 of a UUIDv7 (so they sort by
 * creation time), and UUIDv5 for the ids of commands and messages, which must be equal for equal requests.
 */
export type IdPrefix =
  | 'usr'
  | 'opt'
  | 'lot'
  | 'pur'
  | 'rec'
  | 'ses'
  | 'key'
  | 'lnk'
  | 'mai'
  | 'msg'
  | 'pol'
  | 'svc'
  | 'con'
  | 'ref'
  | 'shr';

const crockford = '0123456789abcdefghjkmnpqrstvwxyz';

/** A new id such as `opt_06cwx5j2n8…`, 4 + 26 characters. */
export function newId(prefix: IdPrefix, nowMs: number = Date.now()): string {
  return `${prefix}_${base32(uuidV7Bytes(nowMs))}`;
}

/** A pattern for ids of one prefix, for contracts that parse them. */
export function idPattern(prefix: IdPrefix): RegExp {
  return new RegExp(`^${prefix}_[${crockford}]{26}$`);
}

/** Creation time of a new id in milliseconds since 1970; null for a derived one. */
export function timeOfId(id: string): number | null {
  const hex = hexOfDigits(id.slice(id.indexOf('_') + 1));
  return hex[12] === '7' ? Number.parseInt(hex.slice(0, 12), 16) : null;
}

/** The 128 bits of an id of ours as 32 hex digits; null for any other text. */
export function hexOfId(id: string): string | null {
  const digits = anyId.exec(id)?.[1];
  return digits === undefined ? null : hexOfDigits(digits);
}

/** 26 digits have 130 bits: the first is at most 7. */
const anyId = new RegExp(`^[a-z]{3}_([0-7][${crockford}]{25})$`);

function hexOfDigits(digits: string): string {
  let value = 0n;
  for (const letter of digits)
    value = (value << 5n) | BigInt(Math.max(0, crockford.indexOf(letter)));
  return value.toString(16).padStart(32, '0');
}

/** The same id for the same parts. It does not sort by time. */
export function derivedId(prefix: IdPrefix, ...parts: string[]): string {
  return `${prefix}_${base32(uuidV5Bytes(parts))}`;
}

/** UUIDv5 over the parts, joined by a separator that no part of ours contains (RFC 9562, 5.5). */
export function uuidV5(...parts: (string | number)[]): string {
  const hex = uuidV5Bytes(parts).toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

const namespace = Buffer.from('7e5f01d07e5f4b1d8e5f7e5f01d07e5f', 'hex');

function uuidV5Bytes(parts: readonly (string | number)[]): Buffer {
  const digest = createHash('sha1').update(namespace).update(parts.join('\u001f')).digest();
  const bytes = digest.subarray(0, 16);
  bytes[6] = (bytes[6]! & 0x0f) | 0x50;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  return bytes;
}

function uuidV7Bytes(nowMs: number): Buffer {
  const bytes = randomBytes(16);
  bytes.writeUIntBE(nowMs, 0, 6);
  bytes[6] = (bytes[6]! & 0x0f) | 0x70;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  return bytes;
}

function base32(bytes: Buffer): string {
  let value = BigInt(`0x${bytes.toString('hex')}`);
  let text = '';
  for (let index = 0; index < 26; index += 1) {
    text = crockford[Number(value & 31n)]! + text;
    value >>= 5n;
  }
  return text;
}
