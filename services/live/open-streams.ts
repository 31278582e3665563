import { callerOfAddress } from '#services/platform/http/client-address.ts';
import { Problem } from '#services/platform/problem.ts';
import { liveLimits } from './limits.ts';

/**
 * How many streams a user and an address have open in this process. Beyond its part of the limit the
 * next one is refused. Closing the oldest instead would let pages that reconnect automatically evict each
 * other for ever.
 */
export type OpenStreams = {
  /** Returns how to free the place. @throws Problem 429 `too-many-streams` with Retry-After */
  open(who: {
    userId: string;
    /** Null for a user in person. A user's keys share half as many places, beside the user's own. */
    apiKey: { id: string } | null;
    address: string;
  }): () => void;
};

export type OpenStreamLimits = { perPerson: number; perAddress: number };

export function createOpenStreams({ perPerson, perAddress }: OpenStreamLimits): OpenStreams {
  const persons = createCounts(perPerson);
  const keys = createCounts(Math.ceil(perPerson / 2));
  const addresses = createCounts(perAddress);
  return {
    open({ userId, apiKey, address }) {
      const own = apiKey === null ? persons : keys;
      const caller = callerOfAddress(address);
      if (own.isFull(userId) || addresses.isFull(caller)) throw tooManyStreams();
      own.add(userId, 1);
      addresses.add(caller, 1);
      let isOpen = true;
      return () => {
        if (!isOpen) return;
        isOpen = false;
        own.add(userId, -1);
        addresses.add(caller, -1);
      };
    },
  };
}

/** Counts by key; what has come back to 0 is forgotten. */
function createCounts(limit: number) {
  const counts = new Map<string, number>();
  return {
    isFull: (key: string) => (counts.get(key) ?? 0) >= limit,
    add(key: string, difference: number) {
      const count = (counts.get(key) ?? 0) + difference;
      if (count === 0) counts.delete(key);
      else counts.set(key, count);
    },
  };
}

function tooManyStreams(): Problem {
  return new Problem(
    'too-many-streams',
    'The rate limit is reached: too many pages are open at once. Close some of them.',
    {
      title: 'Too many open streams',
      detail: 'Too many pages are open. Close some and try again.',
      retryAfterSeconds: liveLimits.openRetrySeconds,
    },
  );
}
