/**
 * Limits how often the screen is redrawn. Facts and words arrive irregularly; drawing follows at a
 * steady rate, lower for slow devices, reduced motion and hidden tabs.
 */
const fastMs = 100;
const slowMs = 200;
const calmMs = 250;
const hiddenMs = 1_000;
/** A second whose timers were this late in total, in milliseconds, counts as slow. */
const slowSecondMs = 150;

export type Surroundings = { readonly hidden: boolean; readonly reducedMotion: boolean };

export function drawingInterval({ hidden, reducedMotion }: Surroundings, slow: boolean): number {
  if (hidden) return hiddenMs;
  if (reducedMotion) return calmMs;
  return slow ? slowMs : fastMs;
}

export type Pace = {
  /** Draws at once after a pause, else when the interval has passed. */
  request: () => void;
  stop: () => void;
};

/** Calls `draw` at most once per interval, and only after a change. */
export function createPace(draw: () => void, surroundings: () => Surroundings): Pace {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let drawnAt = Number.NEGATIVE_INFINITY;
  let second = { startedAt: 0, lateMs: 0 };
  let slow = false;

  const fire = (dueAt: number): void => {
    timer = undefined;
    const now = performance.now();
    if (now - second.startedAt >= 1_000) {
      slow = second.lateMs > slowSecondMs;
      second = { startedAt: now, lateMs: 0 };
    }
    second.lateMs += Math.max(0, now - dueAt);
    drawnAt = now;
    draw();
  };

  return {
    request() {
      if (timer !== undefined) return;
      const now = performance.now();
      const dueAt = Math.max(now, drawnAt + drawingInterval(surroundings(), slow));
      timer = setTimeout(() => fire(dueAt), dueAt - now);
    },
    stop() {
      clearTimeout(timer);
      timer = undefined;
    },
  };
}
