import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useRef } from 'react';
import { moment } from '#web/ui/text/day.ts';
import {
  DeletedReply,
  EndedReply,
  sessionsAtMost,
  type SessionRow,
} from '#services/identity/contract.ts';
import { unlessGone, write } from '#web/api/api.ts';
import { QueryBlock } from '#web/api/query-block.tsx';
import { Button } from '#web/ui/form/button.tsx';
import { RelativeTime } from '#web/ui/text/relative-time.tsx';
import { Skeleton } from '#web/ui/feedback/skeleton.tsx';
import { Badge } from '#web/ui/feedback/status.tsx';
import { Outcome } from '#web/features/profile/outcome.tsx';
import { sessionsQuery } from '#web/features/profile/queries.ts';
import { Section } from '#web/features/profile/section.tsx';
import { type Action, useAction } from '#web/features/profile/use-action.ts';

const methodWords: Readonly<Record<SessionRow['method'], string>> = {
  password: 'with a password',
  confirm: 'by confirming the address',
  magic: 'with a sign-in link',
  reset: 'after a password reset',
  signup: 'when signing up',
};

export function SessionsSection(): ReactNode {
  const sessions = useQuery(sessionsQuery);
  const client = useQueryClient();
  const list = useRef<HTMLUListElement>(null);
  const action = useAction();

  /** The pressed button disappears with its row, so the focus goes to the list. */
  const refresh = async (): Promise<void> => {
    await client.invalidateQueries({ queryKey: sessionsQuery.queryKey });
    list.current?.focus();
  };
  const end = ({ id, device }: SessionRow): void =>
    action.run(async () => {
      await endOne(id);
      await refresh();
      return `Signed out ${device === '' ? 'an unknown device' : device}.`;
    });
  const endOthers = (): void =>
    action.run(async () => {
      const { ended } = await write('POST', '/auth/sessions/end-others', {}, EndedReply);
      await refresh();
      return ended === 1 ? 'Signed out 1 other device.' : `Signed out ${ended} other devices.`;
    });

  return (
    <Section
      title="Sessions"
      about={`Where you're signed in. Ending a session signs that device out within seconds. You can have ${sessionsAtMost} sessions: signing in once more ends the oldest.`}
    >
      <QueryBlock
        answer={sessions}
        label="Loading your sessions"
        failure="We couldn't load your sessions"
        skeleton={<Skeleton className="h-32" />}
      >
        {(rows) => (
          <>
            <ul ref={list} tabIndex={-1} aria-label="Sessions" className="divide-y divide-line">
              {rows.map((row) => (
                <SessionLine key={row.id} row={row} action={action} onEnd={() => end(row)} />
              ))}
            </ul>
            {rows.length > 1 ? (
              <Button onClick={endOthers} busy={action.busy}>
                End all other sessions
              </Button>
            ) : null}
          </>
        )}
      </QueryBlock>
      <Outcome done={action.done} failure={action.failure} title="We couldn't end that session" />
    </Section>
  );
}

function SessionLine({
  row,
  action,
  onEnd,
}: {
  row: SessionRow;
  action: Action;
  onEnd: () => void;
}): ReactNode {
  return (
    <li className="flex flex-wrap items-center justify-between gap-x-4 gap-y-2 py-3 first:pt-0">
      <div className="min-w-0 space-y-0.5">
        <p className="flex flex-wrap items-center gap-x-3 font-medium">
          {deviceWords(row.device)}
          {row.current ? <Badge tone="ok">This device</Badge> : null}
        </p>
        <p className="text-sm text-ink-2">
          <span className="break-all">{row.address}</span>, signed in {methodWords[row.method]}
        </p>
        <p className="text-sm text-ink-2">
          Last used <RelativeTime at={row.last_used_at} />
          {row.remembered ? ', stays signed in' : null}
        </p>
      </div>
      {row.current ? null : (
        <Button onClick={onEnd} busy={action.busy}>
          End
          <span className="sr-only">
            {' '}
            the session of {deviceWords(row.device)}, {row.address}, begun{' '}
            {moment(row.created_at, { dateStyle: 'medium', timeStyle: 'short' })}
          </span>
        </Button>
      )}
    </li>
  );
}

async function endOne(id: string): Promise<void> {
  await unlessGone(write('DELETE', `/auth/sessions/${id}`, {}, DeletedReply));
}

function deviceWords(device: string): string {
  return device === '' ? 'Unknown device' : device;
}
