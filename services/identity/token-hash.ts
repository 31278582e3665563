import { createHash } from 'node:crypto';

/** Tokens and nonces are stored as this alone; they are long and random, so it needs no salt. */
export function hashOf(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
