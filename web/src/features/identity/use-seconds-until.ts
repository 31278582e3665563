import { useEffect, useState } from 'react';

/** Whole seconds until a moment, counting down by itself; 0 once it has passed, and for null. */
export function useSecondsUntil(atMs: number | null): number {
  const [left, setLeft] = useState(0);
  useEffect(() => {
    const look = (): void => {
      const seconds = atMs === null ? 0 : Math.max(0, Math.ceil((atMs - Date.now()) / 1000));
      setLeft(seconds);
      if (seconds === 0) clearInterval(timer);
    };
    const timer = setInterval(look, 1_000);
    look();
    return () => clearInterval(timer);
  }, [atMs]);
  return left;
}
