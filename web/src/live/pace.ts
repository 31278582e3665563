/**
 * How often what has arrived is drawn. Facts and words come whenever they come; the screen follows at
 * one steady rate, and at a lower one when the device, the person or the hidden tab asks for it.
 */
const fastMs = 100;
const slowMs = 200;
const calmMs = 250;
const hiddenMs = 1_000;
/** A second in which the timer came this late in all, in milliseconds, was a slow one. */
const slowSecondMs = 150;

export type Surroundings = { readonly hidden: boolean; readonly reducedMotion: boolean };

/** Milliseconds between two drawings. */
export function drawingInterval({ hidden, reducedMotion }: Surroundings, slow: boolean): number {
  if (hidden) return hiddenMs;
  if (reducedMotion) return calmMs;
  return slow ? slowMs : fastMs;
}

export type Pace = {
  /** Something changed: draws at once after a rest, else when its turn comes. */
  request: () => void;
  stop: () => void;
};

/** Calls `draw` at most once in each interval, and only when something changed. */
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
