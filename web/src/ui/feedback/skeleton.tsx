import { type ReactNode, useEffect, useRef, useState } from 'react';
import { classNames } from '#web/ui/class-names.ts';

/** Nothing is shown for the first span; a shown skeleton stays at least the second. */
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
 * Whether to show a skeleton while `loading`: not for the first 150 ms, and then for at least 300
 * ms.
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

export function Loading({
  loading,
  label,
  skeleton,
  children,
}: {
  loading: boolean;
  /** What is being loaded, for screen readers: "Loading credits". */
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
