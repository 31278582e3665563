import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { settlement } from '#services/optimizations/council/settlement.ts';
import type { SettlementInput } from '#services/optimizations/council/settlement.ts';

const started = { callsStarted: 7, missing: 0, seats: 7, answeredUnusable: false };

const anyEnd: fc.Arbitrary<SettlementInput> = fc
  .record({
    price: fc.integer({ min: 0, max: 100_000 }),
    outcome: fc.constantFrom('completed', 'failed', 'cancelled', 'not_started'),
    draftFailed: fc.boolean(),
    callsStarted: fc.integer({ min: 0, max: 60 }),
    seats: fc.integer({ min: 1, max: 12 }),
    missing: fc.integer({ min: 0, max: 12 }),
    answeredUnusable: fc.boolean(),
  })
  .map((end) => ({ ...end, missing: Math.min(end.missing, end.seats) }));

function paid(end: SettlementInput): number {
  const settled = settlement(end);
  return settled.kind === 'capture' ? settled.capture - settled.refund : 0;
}

describe('the settlement of a run', () => {
  test.each<[string, SettlementInput, ReturnType<typeof settlement>]>([
    [
      'costs its price when all seats answered',
      { price: 14, outcome: 'completed', draftFailed: false, ...started },
      { kind: 'capture', capture: 14, refund: 0 },
    ],
    [
      'returns the share of a missing seat',
      { price: 14, outcome: 'completed', draftFailed: false, ...started, missing: 1 },
      { kind: 'capture', capture: 14, refund: 2 },
    ],
    [
      'rounds the share of a missing seat up',
      { price: 5, outcome: 'completed', draftFailed: false, ...started, missing: 1 },
      { kind: 'capture', capture: 5, refund: 1 },
    ],
    [
      'returns at least a quarter when no draft passed',
      { price: 14, outcome: 'completed', draftFailed: true, ...started },
      { kind: 'capture', capture: 14, refund: 4 },
    ],
    [
      'returns at most half of a completed run',
      {
        price: 49,
        outcome: 'completed',
        draftFailed: true,
        callsStarted: 12,
        missing: 8,
        seats: 12,
        answeredUnusable: false,
      },
      { kind: 'capture', capture: 49, refund: 25 },
    ],
    [
      'returns half of a failed run',
      { price: 33, outcome: 'failed', draftFailed: false, ...started, missing: 5 },
      { kind: 'capture', capture: 33, refund: 17 },
    ],
    [
      'releases a failed run without any answer',
      { price: 33, outcome: 'failed', draftFailed: false, ...started, missing: 7 },
      { kind: 'release' },
    ],
    [
      'returns half of a failed run whose answers could not be used',
      {
        price: 33,
        outcome: 'failed',
        draftFailed: false,
        ...started,
        missing: 7,
        answeredUnusable: true,
      },
      { kind: 'capture', capture: 33, refund: 17 },
    ],
    [
      'returns half of a cancelled run, even without an answer',
      { price: 14, outcome: 'cancelled', draftFailed: false, ...started, missing: 7 },
      { kind: 'capture', capture: 14, refund: 7 },
    ],
    [
      'releases a run that was cancelled before its first call',
      {
        price: 14,
        outcome: 'cancelled',
        draftFailed: false,
        ...started,
        callsStarted: 0,
        missing: 7,
      },
      { kind: 'release' },
    ],
    [
      'releases a run that could not be seated',
      {
        price: 14,
        outcome: 'not_started',
        draftFailed: false,
        ...started,
        callsStarted: 0,
        missing: 7,
      },
      { kind: 'release' },
    ],
  ])('the settlement of a run %s', (_, end, expected) => {
    expect(settlement(end)).toEqual(expected);
  });

  test('the settlement of a run captures the whole price and returns whole credits from 0 to half, rounded up', () => {
    fc.assert(
      fc.property(anyEnd, (end) => {
        const settled = settlement(end);
        expect(settled.kind === 'nothing').toBe(end.price === 0);
        if (settled.kind !== 'capture') return;
        expect(settled.capture).toBe(end.price);
        expect(Number.isSafeInteger(settled.refund)).toBe(true);
        expect(settled.refund).toBeGreaterThanOrEqual(0);
        expect(settled.refund).toBeLessThanOrEqual(Math.ceil(end.price / 2));
      }),
    );
  });

  test('the settlement of a run never costs more when one more seat is missing', () => {
    fc.assert(
      fc.property(anyEnd, (end) => {
        fc.pre(end.missing < end.seats);
        expect(paid({ ...end, missing: end.missing + 1 })).toBeLessThanOrEqual(paid(end));
      }),
    );
  });

  test('the settlement of a run never takes more than the unrounded share', () => {
    fc.assert(
      fc.property(anyEnd, (end) => {
        fc.pre(end.outcome === 'completed' && end.callsStarted > 0);
        const share = Math.min(end.missing / end.seats, 0.5);
        expect(paid(end)).toBeLessThanOrEqual(end.price * (1 - share) + 1e-9);
      }),
    );
  });

  test('the settlement of a run never costs more when no draft passed', () => {
    fc.assert(
      fc.property(anyEnd, (end) => {
        const failed = paid({ ...end, draftFailed: true });
        expect(failed).toBeLessThanOrEqual(paid({ ...end, draftFailed: false }));
      }),
    );
  });

  test('the settlement of a run refuses impossible figures', () => {
    const end = { outcome: 'completed', draftFailed: false, ...started } as const;
    expect(() => settlement({ ...end, price: 1.5 })).toThrow(RangeError);
    expect(() => settlement({ ...end, price: -14 })).toThrow(RangeError);
    expect(() => settlement({ ...end, price: 14, missing: 8 })).toThrow(RangeError);
    expect(() => settlement({ ...end, price: 14, seats: 0 })).toThrow(RangeError);
  });
});
