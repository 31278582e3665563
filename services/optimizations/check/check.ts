import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { ModelFailure } from '#services/models/model.ts';
import { displayNameOf } from '#services/models/provider-list.ts';
import { isDailyLimitReached } from '#services/optimizations/commands.ts';
import { writtenOf } from '#services/optimizations/create.ts';
import type { CheckReply, CheckRequest } from '#services/optimizations/contract/requests.ts';
import { isLaneTaken } from '#services/optimizations/lanes.ts';
import type { Log } from '#services/platform/process/log.ts';
import { ready, verdictOf } from './call.ts';
import type { CallDependencies, Time } from './call.ts';
import { checkerFor } from './checker.ts';
import type { CheckerDependencies } from './checker.ts';
import { checkLimits } from './questions.ts';

/**
 * Whether a question can be answered as it stands: one call of a small model before a run is paid
 * for. A check that cannot be made is skipped, because a start must never depend on it. What it says
 * is kept for ten minutes in the memory of this process, under a hash, and nowhere else.
 */
export type CheckDependencies = CheckerDependencies &
  CallDependencies & {
    dailyCostLimitUsd: number | null;
    log: Pick<Log, 'error'>;
  };

/**
 * Checks the question of a user.
 *
 * @param beforeCall runs once before each call of a model; what it throws refuses the check
 */
export type CheckQuestion = (
  userId: string,
  asked: CheckRequest,
  beforeCall: () => Promise<void>,
) => Promise<CheckReply>;

/** @param timeoutMs of the whole check */
export function createQuestionCheck(
  dependencies: CheckDependencies,
  timeoutMs: number = longestCheckMs,
): CheckQuestion {
  const known = new LRUCache<string, Promise<CheckReply>>({ max: knownReplies, ttl: knownForMs });
  const breaker = createBreaker();
  return async (userId, asked, beforeCall) => {
    const key = createHash('sha256')
      .update(JSON.stringify([userId, asked]))
      .digest('base64url');
    const earlier = known.get(key);
    if (earlier !== undefined) return earlier;
    const begin = async () => {
      await beforeCall();
      return withinTime(dependencies, timeoutMs, (signal) =>
        checkOnce(dependencies, breaker, { userId, asked }, { signal, timeoutMs }),
      );
    };
    const reply = begin();
    // The same question at the same time is one call, too.
    known.set(key, reply);
    try {
      const { skipped } = await reply;
      if (skipped) known.delete(key);
    } catch (error) {
      known.delete(key);
      throw error;
    }
    return reply;
  };
}

/** The provider that questions are sent to; null when none are checked. */
export async function describeChecker(
  dependencies: CheckerDependencies,
  allowSimulated: boolean,
): Promise<{ name: string; simulated: boolean } | null> {
  const checker = await checkerFor(dependencies, { characters: 0, allowSimulated });
  if (checker === null) return null;
  const { provider, simulated } = checker.offer;
  return { name: displayNameOf(provider), simulated };
}

/** Less than the form waits, so that it gets the reply of a check that ends at its last moment. */
const longestCheckMs = checkLimits.seconds * 1000 - 500;
const knownForMs = 600_000;
const knownReplies = 1000;

/** What is answered where no model checked. */
export const skippedCheck: CheckReply = { ...ready, skipped: true };

/** Skipped once the time is over, whatever it waits for: a model, its SDK or the database. */
async function withinTime(
  { log }: Pick<CheckDependencies, 'log'>,
  timeoutMs: number,
  check: (signal: AbortSignal) => Promise<CheckReply>,
): Promise<CheckReply> {
  const signal = AbortSignal.timeout(timeoutMs);
  const checking = check(signal);
  const over = new Promise<CheckReply>((resolve) => {
    signal.addEventListener('abort', () => {
      checking.catch((error: unknown) =>
        log.error({ err: error }, 'A check failed after its time'),
      );
      resolve(skippedCheck);
    });
  });
  return Promise.race([checking, over]);
}

async function checkOnce(
  dependencies: CheckDependencies,
  breaker: Breaker,
  { userId, asked }: { userId: string; asked: CheckRequest },
  time: Time,
): Promise<CheckReply> {
  const { challengeCharacters, filesCharacters } = writtenOf(asked);
  if (await isDailyLimitReached(dependencies)) return skippedCheck;
  const checker = await checkerFor(dependencies, {
    characters: challengeCharacters + filesCharacters,
    allowSimulated: asked.allow_simulated ?? false,
  });
  if (checker === null) return skippedCheck;
  const { provider } = checker.offer;
  if (checker.hasLanes && (await isLaneTaken(dependencies.pool, provider))) return skippedCheck;
  const call = breaker.acquire(provider, userId, checker.hasLanes ? 1 : checksAtOnce);
  if (call === null) return skippedCheck;
  const reportLate = () => breaker.late(provider, userId);
  time.signal.addEventListener('abort', reportLate);
  try {
    const found = await verdictOf(dependencies, checker, asked, time);
    if (found.ok) return found.value;
  } catch (error) {
    if (!(error instanceof ModelFailure)) throw error;
    if (error.failure === 'timeout') reportLate();
    if (transientFailures.has(error.failure)) breaker.open(provider);
  } finally {
    time.signal.removeEventListener('abort', reportLate);
    call.release();
  }
  return skippedCheck;
}

/** In this process, to one provider. */
const checksAtOnce = 8;
/** A provider that does not answer is left alone: nobody should wait for it at each start. */
const openForMs = 60_000;
const transientFailures: ReadonlySet<ModelFailure['failure']> = new Set([
  'rate_limited',
  'unavailable',
  'connection',
  'silent',
]);

// ── who may call ────────────────────────────────────────────────────────────────────────────────

type Breaker = {
  /** A call of the provider; null while it is busy or the breaker open. */
  acquire(provider: string, userId: string, atOnce: number): { release(): void } | null;
  /** Lets no call pass for a minute. */
  open(provider: string): void;
  /**
   * Lets no call of this user pass for a minute, and none of anybody once a second user's is late: one
   * question that makes for a long answer says nothing of the provider.
   */
  late(provider: string, userId: string): void;
};

function createBreaker(): Breaker {
  const calls = new Map<string, number>();
  const opened = new LRUCache<string, true>({ max: 100, ttl: openForMs });
  const lateUser = new LRUCache<string, string>({ max: 100, ttl: openForMs });
  const open = (provider: string) => void opened.set(provider, true);
  return {
    acquire(provider, userId, atOnce) {
      const count = calls.get(provider) ?? 0;
      if (count >= atOnce || opened.has(provider) || lateUser.get(provider) === userId) return null;
      calls.set(provider, count + 1);
      return {
        release() {
          calls.set(provider, (calls.get(provider) ?? 1) - 1);
        },
      };
    },
    open,
    late(provider, userId) {
      if ((lateUser.get(provider) ?? userId) !== userId) open(provider);
      lateUser.set(provider, userId);
    },
  };
}
