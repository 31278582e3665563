import { type ReactNode, useEffect, useRef, useState } from 'react';
import { classNames } from '#web/ui/class-names.ts';

/** Nothing shows for this long; a skeleton that showed stays for at least the second span. */
const appearAfterMs = 150;
const stayForMs = 300;

/** One grey shape; its size comes from `className`. Hidden from assistive technology. */
export function Skeleton({ className }: { className?: string }): ReactNode {
  return (
    <div
      aria-hidden="true"
      className={classNames('animate-shimmer rounded-control bg-line', className)}
    />
  );
}

/**
 * Whether a skeleton should be on screen while something is `loading`: not for the first 150 ms,
 * and, once it is there, for no less than 300 ms.
 */
export function useSkeleton(loading: boolean): boolean {
  const [shown, setShown] = useState(false);
  const shownAt = useRef(0);
  useEffect(() => {
    if (loading === shown) return undefined;
    const waitMs = loading
      ? appearAfterMs
      : Math.max(0, shownAt.current + stayForMs - performance.now());
    const timer = setTimeout(() => {
      shownAt.current = performance.now();
      setShown(loading);
    }, waitMs);
    return () => clearTimeout(timer);
  }, [loading, shown]);
  return shown;
}

/** Draws `skeleton` while `loading`, by the rules above, then `children`. */
export function Loading({
  loading,
  label,
  skeleton,
  children,
}: {
  loading: boolean;
  /** What is being loaded, for those who do not see the shapes: "Loading credits". */
  label: string;
  skeleton: ReactNode;
  children: () => ReactNode;
}): ReactNode {
  const shown = useSkeleton(loading);
  if (!loading && !shown) return children();
  return (
    <div aria-busy="true">
      <span className="sr-only">{label}</span>
      {shown ? skeleton : null}
    </div>
  );
}
