import { describe, expect, it } from 'vitest';
import {
  type Heard,
  heardOf,
  nextReading,
  type Reading,
} from '#web/features/chamber/reading/choice.ts';

const words = (end: number) => ({ slot: 'opinion.S1', attempt: 1, end });
/** Seats by the time at which each wrote last. */
const heard = (at: Record<string, number>): Heard =>
  Object.fromEntries(Object.entries(at).map(([seat, time]) => [seat, { ...words(1), at: time }]));
const showing = (seat: string | null, since = 0, isPinned = false): Reading => ({
  seat,
  since,
  isPinned,
});

describe('the seat in the reading pane', () => {
  it.each([
    ['nobody has written yet', showing(null), {}, 9_000, false, null],
    ['the first seat writes', showing(null), { R1: 9_000 }, 9_000, false, 'R1'],
    ['two write, and one wrote last', showing(null), { R1: 8_000, I1: 8_900 }, 9_000, false, 'I1'],
    ['the seat still writes', showing('S1'), { S1: 8_500, R1: 9_000 }, 9_000, false, 'S1'],
    ['the seat paused for 1.9 s', showing('S1'), { S1: 7_100, R1: 9_000 }, 9_000, false, 'S1'],
    ['the seat paused for 2 s', showing('S1'), { S1: 7_000, R1: 9_000 }, 9_000, false, 'R1'],
    ['the seat ended', showing('S1'), { R1: 9_000 }, 9_000, false, 'R1'],
    ['the seat ended after 5.9 s', showing('S1', 3_100), { R1: 9_000 }, 9_000, false, 'S1'],
    ['the seat ended after 6 s', showing('S1', 3_000), { R1: 9_000 }, 9_000, false, 'R1'],
    ['all have paused', showing('S1'), { S1: 1_000, R1: 2_000 }, 9_000, false, 'S1'],
    ['the reader selects or scrolls', showing('S1'), { R1: 9_000 }, 9_000, true, 'S1'],
    ['the reader picked it', showing('S1', 0, true), { R1: 9_000 }, 9_000, false, 'S1'],
  ] as const)('when %s, the pane shows the right seat', (_case, current, at, now, busy, seat) => {
    const next = nextReading(current, heard(at), now, busy);
    // One that stays is the same object, so that nothing is drawn again.
    expect(next).toEqual(seat === current.seat ? current : { ...showing(seat, now) });
    expect(next === current).toBe(seat === current.seat);
  });

  it('a seat has written when its call, its attempt or its length changed, and is gone when its call ended', () => {
    const first = heardOf({}, { S1: words(10), R1: words(5), I1: words(3) }, 1_000);
    const second = heardOf(
      first,
      { S1: words(12), R1: words(5), I1: { ...words(3), attempt: 2 } },
      2_000,
    );
    expect(Object.fromEntries(Object.entries(second).map(([seat, { at }]) => [seat, at]))).toEqual({
      S1: 2_000,
      R1: 1_000,
      I1: 2_000,
    });
    expect(heardOf(second, { R1: words(5) }, 3_000)).toEqual({ R1: second['R1'] });
  });
});
