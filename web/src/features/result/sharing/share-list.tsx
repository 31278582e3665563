import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useId, useRef } from 'react';
import type { Share } from '#services/optimizations/contract/sharing.ts';
import { problemSentence } from '#web/api/problem-words.ts';
import { QueryBlock } from '#web/api/query-block.tsx';
import { announce } from '#web/ui/feedback/announcer.tsx';
import { Skeleton } from '#web/ui/feedback/skeleton.tsx';
import { useCopy } from '#web/ui/feedback/use-copy.ts';
import { Button } from '#web/ui/form/button.tsx';
import { FieldError } from '#web/ui/form/field.tsx';
import { day } from '#web/ui/text/day.ts';
import { revokeShare, sharesQuery } from './queries.ts';

/** The live links of a result, each to copy or to revoke. */
export function ShareList({ runId }: { runId: string }): ReactNode {
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
                <Link
                  key={share.id}
                  runId={runId}
                  share={share}
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

const notCopied = 'Your browser blocked copying. Select the address and copy it.';

function Link({
  runId,
  share: { id, url, shows_context: showsContext, created_at: createdAt, expires_at: expiresAt },
  onRevoked,
}: {
  runId: string;
  share: Share;
  onRevoked: () => void;
}): ReactNode {
  const client = useQueryClient();
  const { outcome, copy } = useCopy({ copied: 'Link copied', refused: notCopied });
  const { queryKey } = sharesQuery(runId);
  const revoke = useMutation({
    mutationFn: () => revokeShare(runId, id),
    onSuccess: () => {
      client.setQueryData(queryKey, (known) => known?.filter((one) => one.id !== id));
      announce('Link revoked. It no longer works.');
      onRevoked();
    },
    onError: (error) => announce(sentenceOf(error), 'assertive'),
    onSettled: () => client.invalidateQueries({ queryKey }),
  });
  const about = <span className="sr-only"> the link that expires on {day(expiresAt)}</span>;
  return (
    <li className="space-y-2 py-3 first:pt-0">
      <input
        readOnly
        aria-label={`Link created on ${day(createdAt)}`}
        value={url}
        onFocus={(event) => event.currentTarget.select()}
        className="block min-h-11 w-full rounded-control border border-line-strong bg-sunken px-3 font-mono text-sm"
      />
      <div className="flex flex-wrap items-center justify-between gap-2">
        <p className="text-sm text-ink-2">
          Expires on {day(expiresAt)} · Context {showsContext ? 'shown' : 'hidden'}
        </p>
        <div className="flex flex-wrap gap-2">
          <Button onClick={() => void copy(url)}>
            {outcome === 'copied' ? 'Copied' : 'Copy link'}
            {about}
          </Button>
          <Button tone="danger" busy={revoke.isPending} onClick={() => revoke.mutate()}>
            Revoke
            {about}
          </Button>
        </div>
      </div>
      {outcome === 'refused' ? <p className="text-sm text-bad">{notCopied}</p> : null}
      {revoke.error === null ? null : (
        <FieldError id={`${id}-error`}>{sentenceOf(revoke.error)}</FieldError>
      )}
    </li>
  );
}

const sentenceOf = (error: unknown): string =>
  `We couldn't revoke the link, so it still works. ${problemSentence(error)}`;
