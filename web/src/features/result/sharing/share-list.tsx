import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useId, useRef } from 'react';
import { QueryBlock } from '#web/api/query-block.tsx';
import { Skeleton } from '#web/ui/feedback/skeleton.tsx';
import { sharesQuery } from './queries.ts';
import { ShareLink } from './share-link.tsx';

/** The live links of a result, each to copy or to revoke. */
export function ShareList({
  runId,
  hasContext,
}: {
  runId: string;
  hasContext: boolean;
}): ReactNode {
  const shares = useQuery(sharesQuery(runId));
  const list = useRef<HTMLUListElement>(null);
  const title = useId();
  return (
    <section aria-labelledby={title} className="space-y-2 border-t border-line pt-4">
      <h3 id={title} className="text-lg font-semibold">
        Links
      </h3>
      <p className="text-sm text-ink-2">Links also stop working when you delete the run.</p>
      <QueryBlock
        answer={shares}
        label="Loading the links"
        failure="We couldn't load the links"
        skeleton={<Skeleton className="h-16" />}
      >
        {(rows) => (
          <>
            {rows.length === 0 ? (
              <p className="text-ink-2">No working links. New ones appear here.</p>
            ) : null}
            {/* Kept while it is empty: it takes the focus when its last link goes. */}
            <ul ref={list} tabIndex={-1} aria-labelledby={title} className="divide-y divide-line">
              {rows.map((share) => (
                <ShareLink
                  key={share.id}
                  runId={runId}
                  share={share}
                  hasContext={hasContext}
                  onRevoked={() => list.current?.focus()}
                />
              ))}
            </ul>
          </>
        )}
      </QueryBlock>
    </section>
  );
}
