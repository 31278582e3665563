import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { ModelFailure } from '#services/models/model.ts';
import { displayNameOf } from '#services/models/provider-list.ts';
import { isDailyLimitReached } from '#services/optimizations/commands.ts';
import { writtenOf } from '#services/optimizations/create.ts';
import type { CheckReply, CheckRequest } from '#services/optimizations/contract.ts';
import { isLaneTaken } from '#services/optimizations/lanes.ts';
import type { Log } from '#services/platform/process/log.ts';
import { verdictOf } from './call.ts';
import type { CallDependencies, Time } from './call.ts';
import { checkerFor } from './checker.ts';
import type { CheckerDependencies } from './checker.ts';

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
  const desk = createDesk();
  return async (userId, asked, beforeCall) => {
    const key = createHash('sha256')
      .update(JSON.stringify([userId, asked]))
      .digest('base64url');
    const earlier = known.get(key);
    if (earlier !== undefined) return earlier;
    const begin = async () => {
      await beforeCall();
      return withinTime(dependencies, timeoutMs, (signal) =>
        checkOnce(dependencies, desk, asked, { signal, timeoutMs }),
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

/** The form waits 8 s, so that it gets the reply of a check that ends at its last moment. */
const longestCheckMs = 7500;
const knownForMs = 600_000;
const knownReplies = 1000;

/** What is answered where no model checked. */
export const skippedCheck: CheckReply = {
  verdict: 'ready',
  questions: [],
  why: null,
  skipped: true,
};

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
  desk: Desk,
  asked: CheckRequest,
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
  const place = desk.enter(provider, checker.hasLanes ? 1 : checksAtOnce);
  if (place === null) return skippedCheck;
  const closeWhenLate = () => desk.close(provider);
  time.signal.addEventListener('abort', closeWhenLate);
  try {
    const found = await verdictOf(dependencies, checker, asked, time);
    if (found.ok) return found.value;
  } catch (error) {
    if (!(error instanceof ModelFailure)) throw error;
    if (passing.has(error.failure)) desk.close(provider);
  } finally {
    time.signal.removeEventListener('abort', closeWhenLate);
    place.leave();
  }
  return skippedCheck;
}

/** In this process, to one provider. */
const checksAtOnce = 8;
/** A provider that does not answer is left alone: nobody should wait for it at each start. */
const closedForMs = 60_000;
const passing: ReadonlySet<ModelFailure['failure']> = new Set([
  'rate_limited',
  'timeout',
  'unavailable',
  'connection',
  'silent',
]);

// ── who may call ────────────────────────────────────────────────────────────────────────────────

type Desk = {
  /** A place for one check; null while the provider is busy. */
  enter(provider: string, atOnce: number): { leave(): void } | null;
  close(provider: string): void;
};

function createDesk(): Desk {
  const underWay = new Map<string, number>();
  const closed = new LRUCache<string, true>({ max: 100, ttl: closedForMs });
  return {
    enter(provider, atOnce) {
      const count = underWay.get(provider) ?? 0;
      if (count >= atOnce || closed.has(provider)) return null;
      underWay.set(provider, count + 1);
      return {
        leave() {
          underWay.set(provider, (underWay.get(provider) ?? 1) - 1);
        },
      };
    },
    close: (provider) => void closed.set(provider, true),
  };
}
