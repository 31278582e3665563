import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createPace, drawingInterval, type Surroundings } from '#web/live/pace.ts';

const shown: Surroundings = { hidden: false, reducedMotion: false };

beforeEach(() => vi.useFakeTimers());
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

describe('the pace of drawing', () => {
  it('the screen is drawn 10, 5, 4 or 1 times a second', () => {
    expect(drawingInterval(shown, false)).toBe(100);
    expect(drawingInterval(shown, true)).toBe(200);
    expect(drawingInterval({ ...shown, reducedMotion: true }, false)).toBe(250);
    expect(drawingInterval({ hidden: true, reducedMotion: true }, false)).toBe(1_000);
  });

  it('a change is drawn at once after a pause, then at most once per interval', () => {
    const drawn: number[] = [];
    const pace = createPace(
      () => drawn.push(performance.now()),
      () => shown,
    );
    const began = performance.now();
    for (let ms = 0; ms < 1_000; ms += 5) {
      pace.request();
      vi.advanceTimersByTime(5);
    }
    expect(drawn.map((at) => at - began)).toEqual([...Array(11).keys()].map((n) => n * 100));
  });

  it('nothing is drawn without a change or after a stop', () => {
    const draw = vi.fn<() => void>();
    const pace = createPace(draw, () => shown);
    vi.advanceTimersByTime(5_000);
    expect(draw).not.toHaveBeenCalled();
    pace.request();
    pace.stop();
    vi.advanceTimersByTime(5_000);
    expect(draw).not.toHaveBeenCalled();
  });

  it('the rate halves after a second in which the page could not keep up, and recovers', () => {
    let blockedMs = 0;
    const fake = performance.now.bind(performance);
    vi.spyOn(performance, 'now').mockImplementation(() => fake() + blockedMs);
    let drawn = 0;
    const pace = createPace(
      () => {
        drawn += 1;
      },
      () => shown,
    );
    /** Counts draws within so many seconds when each is delayed by so many milliseconds. */
    const drawingsIn = (seconds: number, blockMs: number): number => {
      drawn = 0;
      const until = performance.now() + seconds * 1_000;
      while (performance.now() < until) {
        pace.request();
        blockedMs += blockMs;
        vi.advanceTimersByTime(50);
      }
      return drawn;
    };
    expect(drawingsIn(2, 0)).toBeGreaterThanOrEqual(20);
    drawingsIn(1, 40);
    expect(drawingsIn(2, 40)).toBeLessThanOrEqual(10);
    drawingsIn(2, 0);
    expect(drawingsIn(2, 0)).toBeGreaterThanOrEqual(20);
  });
});
