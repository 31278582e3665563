import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import type { Cursor } from '#db/reader.ts';

/**
 * The ids of stream messages: a place in the log, signed for one user. Resuming reads the events of all
 * users from there, so only a place that was issued to this user is accepted. All processes share the
 * keys, so an id works in any of them and after a restart.
 */
export type StreamIds = {
  epoch: string;
  idOf(userId: string, cursor: Cursor): string;
  /** Null for anything that was not issued to this user, under these keys and in this epoch. */
  cursorOf(userId: string, id: string): Cursor | null;
};

export function createStreamIds({
  keys,
  epoch,
}: {
  /** The first signs, any verifies. */
  keys: readonly Buffer[];
  /** Changes with each restore, which changes the meaning of places in the log. */
  epoch: string;
}): StreamIds {
  // As objects they are prepared once, not for each signature.
  const secrets = keys.map((key) => createSecretKey(key));
  const [signing] = secrets;
  if (signing === undefined) throw new Error('There is no key to sign stream ids with');
  return {
    epoch,
    idOf(userId, { transactionId, globalPosition }) {
      const place = `${epoch}.${transactionId}.${globalPosition}`;
      return `${place}.${signatureOf(signing, userId, place)}`;
    },
    cursorOf(userId, id) {
      const [of, transactionId, globalPosition, signature, ...rest] = id.split('.');
      if (of !== epoch || signature?.length !== signatureLength || rest.length > 0) return null;
      if (transactionId === undefined || globalPosition === undefined) return null;
      const place = `${epoch}.${transactionId}.${globalPosition}`;
      const isIssued = secrets.some((key) => isSame(signature, signatureOf(key, userId, place)));
      return isIssued ? { transactionId, globalPosition } : null;
    },
  };
}

/** 128 bits in base64url. */
const signatureLength = 22;

function signatureOf(key: KeyObject, userId: string, place: string): string {
  return createHmac('sha256', key)
    .update(`stream id of ${userId}: ${place}`)
    .digest('base64url')
    .slice(0, signatureLength);
}

function isSame(given: string, expected: string): boolean {
  const bytes = Buffer.from(given);
  return bytes.length === signatureLength && timingSafeEqual(bytes, Buffer.from(expected));
}
