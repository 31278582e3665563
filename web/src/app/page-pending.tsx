import type { ReactNode } from 'react';
import { Skeleton } from '#web/ui/feedback/skeleton.tsx';

/** A page that takes longer than 150 ms to load: heading, a line, two blocks. */
export function PagePending({ words }: { words?: string }): ReactNode {
  return (
    <div className="mx-auto max-w-page space-y-6 px-4 py-8 sm:px-6">
      <Skeleton className="h-10 w-2/3 max-w-prose" />
      {words === undefined ? (
        <>
          <p className="sr-only">Loading the page</p>
          <Skeleton className="h-5 w-1/2 max-w-prose" />
        </>
      ) : (
        <p className="h-5 leading-5 text-ink-2">{words}</p>
      )}
      <div className="grid grid-cols-1 gap-6 lg:grid-cols-2">
        <Skeleton className="h-40" />
        <Skeleton className="h-40" />
      </div>
    </div>
  );
}
