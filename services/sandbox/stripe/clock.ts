import { expireSession, settleLater } from './objects/checkout.ts';
import type { Store } from './store.ts';
import { nextStepOf, stepSubscription } from './objects/subscriptions.ts';
import { daySeconds } from './world.ts';
import type { World } from './world.ts';

/**
 * The fake's own clock: real time plus an offset. Work that falls due on the way to a moment is done
 * in order, each part at its own time.
 */
export type FakeClock = {
  nowMs: () => number;
  /** How far it is ahead of the world's. */
  aheadMs: () => number;
  /** Does what has fallen due by now. */
  catchUp(world: World): void;
  advance(world: World, ms: number): void;
};

type Due = { at: number; run: () => void };

export function createFakeClock(store: Store, worldClock: () => number): FakeClock {
  let pinnedMs: number | null = null;

  const aheadMs = () => Number(store.get('setting', 'ahead')?.value ?? 0);
  const nowMs = () => pinnedMs ?? worldClock() + aheadMs();

  function runUntil(world: World, endMs: number): void {
    try {
      for (let due = nextDue(world, endMs); due !== null; due = nextDue(world, endMs)) {
        const { at, run } = due;
        pinnedMs = Math.max(at * 1000, 0);
        store.transact(run);
      }
    } finally {
      pinnedMs = null;
    }
  }

  return {
    nowMs,
    aheadMs,
    catchUp(world) {
      runUntil(world, nowMs());
      forgetOld(store, nowMs());
    },
    advance(world, ms) {
      const endMs = nowMs() + ms;
      runUntil(world, endMs);
      store.put('setting', 'ahead', { value: endMs - worldClock() });
    },
  };
}

/** The first of what falls due until then; of two at once, the one that was there first. */
function nextDue(world: World, endMs: number): Due | null {
  const { store } = world;
  let first: Due | null = null;
  const consider = (at: number | null, run: () => void): void => {
    if (at === null || at * 1000 > endMs || (first !== null && first.at <= at)) return;
    first = { at, run };
  };
  for (const { id, status, expires_at: expiresAt } of store.all('session')) {
    if (status === 'open') consider(expiresAt, () => void expireSession(world, id));
    if (status !== 'complete') continue;
    const settlesAt = store.get('sessionDetails', id)?.settlesAt ?? null;
    if (settlesAt !== null) consider(settlesAt, () => void settleLater(world, id, 'paid'));
  }
  for (const subscription of store.all('subscription'))
    consider(nextStepOf(world, subscription), () => stepSubscription(world, subscription.id));
  return first;
}

/** As with the real one: keys are remembered for a day, events for thirty. */
const answerDays = 1;
const eventDays = 30;

/** Once a day, so that what cannot be asked for any more does not pile up. */
function forgetOld(store: Store, nowMs: number): void {
  const today = Math.floor(nowMs / 1000 / daySeconds);
  if (Number(store.get('setting', 'forgotten')?.value ?? 0) >= today) return;
  const before = (days: number) => nowMs - days * daySeconds * 1000;
  store.transact(() => {
    store.put('setting', 'forgotten', { value: today });
    for (const [key, { at }] of store.entries('answer'))
      if (at < before(answerDays)) store.drop('answer', key);
    for (const [id, { created }] of store.entries('event')) {
      const isOver = store.get('webhook', id)?.state !== 'pending';
      if (created * 1000 >= before(eventDays) || !isOver) continue;
      store.drop('event', id);
      store.drop('webhook', id);
    }
  });
}
