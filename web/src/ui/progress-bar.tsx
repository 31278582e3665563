import type { ReactNode } from 'react';
import { classNames } from './class-names.ts';

/**
 * A bar from 0 to 100. The value is read out as a whole percent; the fill follows it at once,
 * because a transition under a stream of values doubles the cost of painting.
 */
export function ProgressBar({
  label,
  value,
  className = 'text-accent',
}: {
  label: string;
  /** 0 to 100; rounded down, so that 100 means done. */
  value: number;
  /** The colour of the fill, as a text colour. */
  className?: string;
}): ReactNode {
  const percent = Math.floor(Math.min(100, Math.max(0, value)));
  return (
    <div
      role="progressbar"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={percent}
      className="h-2 overflow-hidden rounded-full bg-line"
    >
      <svg width="100%" height="100%" aria-hidden="true" className={classNames('block', className)}>
        <rect width={`${percent}%`} height="100%" className="fill" fill="currentColor" />
      </svg>
    </div>
  );
}
