import type { ReactNode } from 'react';

/** From this share of a limit on, its counter shows. */
const nearLimit = 0.8;

/** How much of a limit a text has used, once it comes near; nothing before. */
export function Counter({ text, limit }: { text: string; limit: number }): ReactNode {
  const { length } = text.trim();
  if (length < limit * nearLimit) return null;
  return (
    <span className={length > limit ? 'text-sm font-medium text-bad' : 'text-sm text-ink-2'}>
      {length.toLocaleString()} of {limit.toLocaleString()}
    </span>
  );
}
