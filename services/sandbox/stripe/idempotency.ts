import { createHash } from 'node:crypto';
import type { Store, StoredAnswer } from './store.ts';
import { WireError } from './wire.ts';
import type { Params } from './wire.ts';

/**
 * A repeated key gets the first answer again, for a day. Calls that were refused before any work
 * began are not remembered.
 */
export type Answer = { status: number; body: string };

const keptMs = 24 * 3600_000;

export function fingerprintOf(method: string, path: string, params: Params): string {
  const said = JSON.stringify([method, path, inOrder(params)]);
  return createHash('sha256').update(said).digest('hex');
}

function inOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOrder);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return entries.map(([name, inner]) => [name, inOrder(inner)]);
}

/** The first answer of the key; null when the key is new. */
export function rememberedAnswer(
  store: Store,
  key: string,
  fingerprint: string,
  nowMs: number,
): StoredAnswer | null {
  const found = store.get('answer', key);
  if (found === null || nowMs - found.at > keptMs) return null;
  if (found.fingerprint === fingerprint) return found;
  throw new WireError(
    400,
    'idempotency_error',
    `Keys for idempotent requests can only be used with the same parameters they were first used with. Try using a key other than '${key}' if you meant to execute a different request.`,
  );
}

export function rememberAnswer(
  store: Store,
  key: string,
  fingerprint: string,
  { status, body }: Answer,
  nowMs: number,
): void {
  store.put('answer', key, { fingerprint, status, body, at: nowMs });
}

/** Whether a call was refused before any work began. */
export function isBeforehand(error: WireError): boolean {
  const code = typeof error.members['code'] === 'string' ? error.members['code'] : '';
  return error.status === 401 || error.status === 429 || code.startsWith('parameter');
}

export function keyInUse(key: string): WireError {
  return new WireError(
    409,
    'idempotency_error',
    `There is currently another in-progress request using this Idempotent Key: ${key}. Please try again later.`,
    { code: 'idempotency_key_in_use' },
  );
}
