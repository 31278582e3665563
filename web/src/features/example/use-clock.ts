import { isMotionReduced } from '#web/ui/display.ts';
import { type RefObject, useEffect, useState, useSyncExternalStore } from 'react';

/** How often the picture changes, in milliseconds. */
const tickMs = 50;
/** Plays while this share of the film, or a film over this share of the window, is on screen. */
const seen = 0.4;
const thresholds = [0, 0.1, 0.2, 0.3, seen];

export type Clock = {
  /** Milliseconds of the film. */
  readonly ms: number;
  readonly playing: boolean;
  /** Reduced motion: the film stands still, and only `show` moves it. */
  readonly still: boolean;
  readonly play: () => void;
  readonly pause: () => void;
  readonly restart: () => void;
  /** Shows one moment and stays there. */
  readonly show: (ms: number) => void;
};

/**
 * Plays from 0 to `length` once. It starts when enough of `stage` is on screen, and stands still while
 * it is not, or while the tab is hidden.
 */
export function useClock(length: number, stage: RefObject<Element | null>): Clock {
  const still = usePrefersReducedMotion();
  const [wanted, setWanted] = useState(true);
  const [ms, setMs] = useState(0);
  // With reduced motion the film is its last picture until a part is chosen.
  const [chosen, setChosen] = useState(false);
  const isSeen = useSeen(stage);
  const ended = ms >= length;
  const playing = wanted && !ended && !still;
  useEffect(() => {
    if (!playing || !isSeen) return undefined;
    const timer = setInterval(() => {
      if (!document.hidden) setMs((now) => Math.min(length, now + tickMs));
    }, tickMs);
    return () => clearInterval(timer);
  }, [playing, isSeen, length]);
  return {
    ms: still && !chosen ? length : ms,
    playing,
    still,
    play: () => setWanted(true),
    pause: () => setWanted(false),
    restart: () => {
      setMs(0);
      setWanted(true);
    },
    show: (moment) => {
      setMs(moment);
      setChosen(true);
      setWanted(false);
    },
  };
}

const reduced = '(prefers-reduced-motion: reduce)';

function usePrefersReducedMotion(): boolean {
  return useSyncExternalStore(
    (changed) => {
      const query = matchMedia(reduced);
      query.addEventListener('change', changed);
      return () => query.removeEventListener('change', changed);
    },
    isMotionReduced,
    () => false,
  );
}

function useSeen(stage: RefObject<Element | null>): boolean {
  const [isSeen, setIsSeen] = useState(false);
  useEffect(() => {
    const observer = new IntersectionObserver(
      (entries) => {
        const { intersectionRatio = 0, intersectionRect, rootBounds } = entries.at(-1) ?? {};
        const filled = (intersectionRect?.height ?? 0) / (rootBounds?.height ?? Infinity);
        setIsSeen(intersectionRatio >= seen || filled >= seen);
      },
      { threshold: thresholds },
    );
    if (stage.current) observer.observe(stage.current);
    return () => observer.disconnect();
  }, [stage]);
  return isSeen;
}
