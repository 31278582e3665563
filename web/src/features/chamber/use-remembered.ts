import { useState } from 'react';

/**
 * A switch that keeps its position on this device, per user. Signing out removes it with the
 * drafts.
 */
export function useRemembered(
  userId: string,
  initially: boolean,
): [boolean, (next: boolean) => void] {
  const key = `sevenfold.draft.${userId}.chamber-bias`;
  const [value, setValue] = useState(() => stored(key) ?? initially);
  return [
    value,
    (next) => {
      setValue(next);
      // A browser that forbids storage forgets the switch; nothing else depends on it.
      if (navigator.cookieEnabled) localStorage.setItem(key, String(next));
    },
  ];
}

function stored(key: string): boolean | null {
  const text = navigator.cookieEnabled ? localStorage.getItem(key) : null;
  return text === null ? null : text === 'true';
}
