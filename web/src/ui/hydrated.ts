import { useSyncExternalStore } from 'react';

const never = (): (() => void) => () => {};

/** False in prerendered markup and while it is taken over, true from then on. */
export function useHydrated(): boolean {
  return useSyncExternalStore(
    never,
    () => true,
    () => false,
  );
}
