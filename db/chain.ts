import { createHash } from 'node:crypto';
import type { RecordedEvent } from './recorded-event.ts';

/**
 * The hash chain of a stream: each event carries the hash of the previous hash and itself, so that a
 * changed, missing or inserted event shows. It covers what is stored, sealed text included, and nothing
 * that a restore may change: no positions in the log, transaction ids or times of the database. Erasing
 * a key therefore leaves the chain intact.
 */
export type ChainedEvent = {
  stream: string;
  /** Position in the stream, from 1. */
  version: number;
  messageId: string;
  type: string;
  data: Readonly<Record<string, unknown>>;
  /** Without `hash`. */
  metadata: Readonly<Record<string, unknown>>;
};

/** The previous hash of a stream's first event. */
export const firstHash = '0'.repeat(64);

/** SHA-256 of the previous hash and the canonical event, as 64 hex digits. */
export function chainHash(previousHash: string, event: ChainedEvent): string {
  return createHash('sha256').update(previousHash).update(canonicalJson(event)).digest('hex');
}

export type ChainCheck =
  | { intact: true; hash: string; version: number }
  /** The first event that does not follow from the previous one. */
  | { intact: false; version: number; messageId: string };

/**
 * Checks stored events of one stream in order, from the first one, or from where an earlier check ended.
 * Takes events as they are stored, before any upcasting.
 */
export function verifyChain(
  events: Iterable<RecordedEvent>,
  from: { hash: string; version: number } = { hash: firstHash, version: 0 },
): ChainCheck {
  let { hash, version } = from;
  for (const event of events) {
    const { hash: stored, ...metadata } = event.metadata;
    const expected = chainHash(hash, {
      stream: event.streamId,
      version: version + 1,
      messageId: event.messageId,
      type: event.type,
      data: event.data,
      metadata,
    });
    if (event.streamPosition !== version + 1 || stored !== expected)
      return { intact: false, version: event.streamPosition, messageId: event.messageId };
    hash = expected;
    version += 1;
  }
  return { intact: true, hash, version };
}

/** A value that has no single canonical form, or that the database cannot store. */
export class NotCanonicalError extends Error {
  override readonly name = 'NotCanonicalError';
}

/**
 * RFC 8785: keys in the order of their UTF-16 units, numbers and strings as ECMAScript writes them, no
 * white space. Properties that are undefined are left out, as JSON.stringify leaves them out.
 *
 * @throws NotCanonicalError for anything but plain JSON: NaN, lone surrogates, the character NUL
 * (which jsonb refuses), integers beyond 2^53, dates and other objects. The message names no value.
 */
export function canonicalJson(value: unknown): string {
  if (value === null || typeof value === 'boolean') return String(value);
  if (typeof value === 'string') return canonicalString(value);
  if (typeof value === 'number') return canonicalNumber(value);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (isPlainObject(value)) {
    const members = Object.keys(value)
      .filter((key) => value[key] !== undefined)
      .toSorted(byCodeUnits)
      .map((key) => `${canonicalString(key)}:${canonicalJson(value[key])}`);
    return `{${members.join(',')}}`;
  }
  throw new NotCanonicalError(`A ${typeof value} that is not plain JSON has no canonical form`);
}

function canonicalString(text: string): string {
  if (!text.isWellFormed()) throw new NotCanonicalError('A text holds half a surrogate pair');
  if (text.includes('\0')) throw new NotCanonicalError('A text holds the character NUL');
  return JSON.stringify(text);
}

function canonicalNumber(value: number): string {
  if (!Number.isFinite(value)) throw new NotCanonicalError('A number is not finite');
  if (Number.isInteger(value) && !Number.isSafeInteger(value))
    throw new NotCanonicalError('An integer is beyond 2^53');
  return JSON.stringify(value);
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** The order of `<`, made explicit. */
function byCodeUnits(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}
