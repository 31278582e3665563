import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { QueryBlock } from '#web/api/query-block.tsx';
import { runsQuery } from '#web/features/runs/queries.ts';
import { Skeleton } from '#web/ui/feedback/skeleton.tsx';
import { Status, type StatusTone } from '#web/ui/feedback/status.tsx';
import { Button } from '#web/ui/form/button.tsx';
import { RelativeTime } from '#web/ui/text/relative-time.tsx';
import { type Kept, type Notice, withFinishedRuns } from './notices.ts';

const tones: Readonly<Record<Notice['tone'], StatusTone>> = {
  success: 'ok',
  error: 'bad',
  warning: 'warn',
  info: 'neutral',
};

/** What the bell holds: this device's messages, and the finished runs that the server lists. */
export function NoticeList({ kept, onClear }: { kept: Kept; onClear: () => void }): ReactNode {
  const runs = useQuery(runsQuery());
  const lines = (notices: readonly Notice[]): ReactNode =>
    notices.length === 0 ? (
      <p className="p-4 text-ink-2">Messages and finished runs appear here.</p>
    ) : (
      <>
        <ol>
          {notices.map((notice) => (
            <Line key={notice.id} notice={notice} />
          ))}
        </ol>
        <div className="p-2">
          <Button tone="quiet" wide onClick={onClear}>
            Clear notifications
          </Button>
        </div>
      </>
    );
  return (
    <>
      <QueryBlock
        answer={runs}
        label="Loading your notifications"
        failure="We couldn't load your finished runs"
        skeleton={<Skeleton className="h-40" />}
      >
        {({ data }) => lines(withFinishedRuns(kept, data))}
      </QueryBlock>
      {runs.isError && runs.data === undefined && kept.notices.length > 0
        ? lines(kept.notices)
        : null}
    </>
  );
}

function Line({
  notice: { tone, title, message, run, at, isRead },
}: {
  notice: Notice;
}): ReactNode {
  return (
    <li className="space-y-1 border-b border-line px-4 py-3">
      <p className={isRead ? '' : 'font-semibold'}>
        {isRead ? null : <span className="sr-only">Unread: </span>}
        <Status tone={tones[tone]}>{title}</Status>
      </p>
      {message === undefined ? null : <p className="text-ink-2">{message}</p>}
      <p className="flex items-center justify-between gap-4 text-sm text-ink-3">
        <RelativeTime at={at} />
        {run === undefined ? null : (
          <Link
            to="/optimizations/$id"
            params={{ id: run.id }}
            className="link inline-flex min-h-8 items-center text-base"
          >
            {run.status === 'completed' ? 'View Results' : 'View run'}
            <span className="sr-only"> of {title}</span>
          </Link>
        )}
      </p>
    </li>
  );
}
