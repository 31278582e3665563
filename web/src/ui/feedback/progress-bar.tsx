import type { ReactNode } from 'react';
import { classNames } from '#web/ui/class-names.ts';

/**
 * A bar from 0 to 100, read out as a whole percent. The fill has no transition, because that
 * doubles the cost of painting a stream of values.
 */
export function ProgressBar({
  label,
  value,
  className = 'text-accent',
}: {
  label: string;
  /** Rounded down, so that 100 means done. */
  value: number;
  /** The colour of the fill, as a text colour. */
  className?: string;
}): ReactNode {
  const percent = Math.floor(Math.min(100, Math.max(0, value)));
  return (
    <progress aria-label={label} value={percent} max={100} className={classNames('bar', className)}>
      {percent}%
    </progress>
  );
}
