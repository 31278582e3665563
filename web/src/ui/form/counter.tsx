import type { ReactNode } from 'react';
import { figure } from '#services/platform/numbers.ts';

/** A counter is shown from this share of its limit. */
const nearLimit = 0.8;

export function Counter({ text, limit }: { text: string; limit: number }): ReactNode {
  const { length } = text.trim();
  if (length < limit * nearLimit) return null;
  return (
    <span className={length > limit ? 'text-sm font-medium text-bad' : 'text-sm text-ink-2'}>
      {figure(length)} of {figure(limit)}
    </span>
  );
}
