import { expect, test } from 'vitest';
import { streamOf } from '#services/optimizations/run/events.ts';
import type { OptimizationEvent } from '#services/optimizations/run/events.ts';
import { give } from '#tests/support/processes/service.ts';
import { createSlowCouncil } from '#tests/support/slow/council.ts';

/**
 * A small computer writes 8 tokens a second, one call after the other. Everything is 60 times as quick
 * here: the model, the 120 s that a call there is expected to take, and all deadlines.
 */
const factor = 60;

test('a run at 8 tokens a second completes with every seat within the deadlines of its start', async () => {
  const council = await createSlowCouncil({ tokensPerSecond: 8 * factor, factor });
  try {
    const person = await council.signUp();
    await give(council, person.userId, 20);
    const run = await council.ask(person, {
      challenge: 'Should I raise my prices, or keep them and sell more?',
      strategy: 'fast',
    });
    const { events } = await council.core.readStream(streamOf(run.id));
    const all = events.map(({ type, data }) => ({ type, data }) as OptimizationEvent);
    const begun = all.find((event) => event.type === 'ProcessingStarted');
    const lastCall = events.findLast(({ type }) => type === 'CallSucceeded');
    const minutes = (to: unknown) =>
      Math.round((Date.parse(String(to)) - Date.parse(begun!.data.startedAt)) / 100) / 10;
    console.info(
      `The calls took ${minutes(lastCall?.metadata.occurredAt)} minutes of ${minutes(begun?.data.runDeadlineAt)}`,
    );
    expect(run).toMatchObject({
      status: 'completed',
      simulated: false,
      credits: { charged: 4, refunded: 0 },
      result: { heading: 'recommendation', verified: 'self' },
    });
    expect(run.models.map(({ status }) => status)).toEqual(run.models.map(() => 'completed'));
    expect(all.flatMap((event) => ('reason' in event.data ? [event.data.reason] : []))).toEqual([
      'all',
      'all',
      null,
    ]);
    expect(all.filter(({ type }) => type === 'CallStarted').length).toBeGreaterThanOrEqual(18);
    expect(council.provider.mostAtOnce()).toBe(1);
    expect(new Set(council.provider.calls.map(({ model }) => model))).toEqual(
      new Set(['qwen3:8b']),
    );
  } finally {
    await council.close();
  }
});
