import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import type { Share } from '#services/optimizations/contract/sharing.ts';
import { problemSentence } from '#web/api/problem-words.ts';
import { Dialog } from '#web/ui/dialog.tsx';
import { announce } from '#web/ui/feedback/announcer.tsx';
import { useCopy } from '#web/ui/feedback/use-copy.ts';
import { Button } from '#web/ui/form/button.tsx';
import { FieldError } from '#web/ui/form/field.tsx';
import { day } from '#web/ui/text/day.ts';
import { revokeShare, sharesQuery } from './queries.ts';

const notCopied = 'Your browser blocked copying. Select the address and copy it.';

/** A live link: its address, to copy, and revoking it. */
export function ShareLink({
  runId,
  share: { id, url, shows_context: showsContext, created_at: createdAt, expires_at: expiresAt },
  hasContext,
  onRevoked,
}: {
  runId: string;
  share: Share;
  /** Only then is it shown or hidden. */
  hasContext: boolean;
  onRevoked: () => void;
}): ReactNode {
  const client = useQueryClient();
  const [isAsked, setAsked] = useState(false);
  const close = (): void => setAsked(false);
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
          Expires on {day(expiresAt)}
          {hasContext ? ` · Context ${showsContext ? 'shown' : 'hidden'}` : ''}
        </p>
        <div className="flex flex-wrap gap-2">
          <Button onClick={() => void copy(url)}>
            {outcome === 'copied' ? 'Copied' : 'Copy link'}
            {about}
          </Button>
          <Button tone="danger" busy={revoke.isPending} onClick={() => setAsked(true)}>
            Revoke
            {about}
          </Button>
        </div>
      </div>
      {outcome === 'refused' ? <p className="text-sm text-bad">{notCopied}</p> : null}
      {revoke.error === null ? null : (
        <FieldError id={`${id}-error`}>{sentenceOf(revoke.error)}</FieldError>
      )}
      <Dialog
        open={isAsked}
        onClose={close}
        title="Revoke this link?"
        actions={
          <>
            <Button onClick={close}>Keep link</Button>
            <Button
              tone="danger"
              onClick={() => {
                close();
                revoke.mutate();
              }}
            >
              Revoke link
            </Button>
          </>
        }
      >
        <p>
          Everyone who has the link created on {day(createdAt)} loses access at once, and you can't
          undo this.
        </p>
      </Dialog>
    </li>
  );
}

const sentenceOf = (error: unknown): string =>
  `We couldn't revoke the link, so it still works. ${problemSentence(error)}`;
