import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createPulse } from '#services/live/pulse.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('every member beats once in each round, from one timer, spread over several turns', () => {
  const pulse = createPulse(1000, 10);
  const beats: number[] = [];
  const leave: (() => void)[] = [];
  for (let member = 0; member < 20; member += 1) {
    leave.push(pulse.join(() => beats.push(member)));
    vi.advanceTimersByTime(100);
  }
  expect(vi.getTimerCount()).toBe(1);
  beats.splice(0);
  vi.advanceTimersByTime(100);
  expect(beats.length).toBeLessThan(20);
  vi.advanceTimersByTime(900);
  expect(beats.toSorted((one, other) => one - other)).toEqual([...Array(20).keys()]);
  for (const one of leave) one();
  expect(vi.getTimerCount()).toBe(0);
});

test('a member beats first a whole round after it joins, and never after it leaves', () => {
  const pulse = createPulse(1000, 10);
  const beat = vi.fn<() => void>();
  const leave = pulse.join(beat);
  vi.advanceTimersByTime(999);
  expect(beat).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  expect(beat).toHaveBeenCalledTimes(1);
  const others = pulse.join(vi.fn<() => void>());
  leave();
  leave();
  vi.advanceTimersByTime(5000);
  expect(beat).toHaveBeenCalledTimes(1);
  expect(vi.getTimerCount()).toBe(1);
  others();
});
