import { useState } from 'react';
import { keep, readKept } from '#web/consent/device.ts';

/**
 * A switch that keeps its position on this device, per user. Signing out removes it with the
 * drafts.
 */
export function useRemembered(
  userId: string,
  initially: boolean,
): [boolean, (next: boolean) => void] {
  const key = `sevenfold.draft.${userId}.chamber-bias` as const;
  const [value, setValue] = useState(() => {
    const kept = readKept(key);
    return kept === null ? initially : kept === 'true';
  });
  return [
    value,
    (next) => {
      setValue(next);
      keep(key, String(next));
    },
  ];
}
