import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { strategyName } from '#services/optimizations/reading/words/names.ts';
import type { ListedRun } from '#services/optimizations/contract/run.ts';
import { runCredits } from '#services/optimizations/reading/words/money.ts';
import { runStatusWords } from '#services/optimizations/reading/words/status.ts';
import { rowId } from '#web/run/undo.ts';
import { runStatusTones } from '#web/run/words.ts';
import { LinkButton } from '#web/ui/form/button.tsx';
import { RelativeTime } from '#web/ui/text/relative-time.tsx';
import { Badge, Status } from '#web/ui/feedback/status.tsx';
import { addressOf, type RunFilter } from './run-filter.ts';
import { agreementWords, newestWords, refinementsWords, runningId } from './words.ts';

/** Runs, one row each, with a link to the chamber while running, then to the result. */
export function RunList({
  runs,
  renderActions,
}: {
  runs: readonly ListedRun[];
  /** Actions below a run's facts. */
  renderActions?: (run: ListedRun) => ReactNode;
}): ReactNode {
  return (
    <ul className="divide-y divide-line border-y border-line">
      {runs.map((run) => (
        <RunRow key={run.id} run={run} actions={renderActions?.(run)} />
      ))}
    </ul>
  );
}

function RunRow({ run, actions }: { run: ListedRun; actions: ReactNode }): ReactNode {
  const facts = [
    run.outcome,
    newestWords(run),
    agreementWords(run.agreement_score),
    strategyName(run.strategy),
    runCredits(run),
    refinementsWords(run.refinements),
  ];
  return (
    <li
      id={rowId(run.id)}
      className="flex flex-col gap-3 py-4 sm:flex-row sm:items-center sm:justify-between sm:gap-6"
    >
      <div className="min-w-0 space-y-1">
        <p className="font-medium break-words">{run.title}</p>
        <p className="flex flex-wrap items-center gap-x-3 gap-y-1 text-sm text-ink-2">
          <Status tone={runStatusTones[run.status]}>{runStatusWords[run.status]}</Status>
          {facts.map((fact) => (fact === null ? null : <span key={fact}>{fact}</span>))}
          <RelativeTime at={run.created_at} />
          {run.simulated ? <Badge>Simulated</Badge> : null}
        </p>
        {actions}
      </div>
      <WayOn run={run} />
    </li>
  );
}

function WayOn({ run }: { run: ListedRun }): ReactNode {
  const { id, status, title } = run;
  const about = <span className="sr-only">: {title}</span>;
  const running = runningId(run);
  return (
    <div className="flex shrink-0 flex-wrap gap-2">
      {running === null ? null : (
        <LinkButton to="/evolution-chamber" search={{ id: running }} className="grow">
          View Progress{about}
        </LinkButton>
      )}
      {status === 'processing' ? null : (
        <LinkButton to="/optimizations/$id" params={{ id }} className="grow">
          {status === 'completed' ? 'View Results' : 'View Details'}
          {about}
        </LinkButton>
      )}
    </div>
  );
}

/** The pages of a list, ten runs each. */
export function RunPages({ filter, pages }: { filter: RunFilter; pages: number }): ReactNode {
  if (pages <= 1) return null;
  const { page } = filter;
  const place = 'inline-flex min-h-11 items-center rounded-control px-3 link';
  return (
    <nav aria-label="Pages" className="flex flex-wrap items-center gap-4">
      {page > 1 ? (
        <Link
          to="/dashboard/optimizations"
          search={addressOf({ ...filter, page: page - 1 })}
          className={place}
        >
          Previous
        </Link>
      ) : null}
      <span className="text-ink-2">
        Page {page} of {pages}
      </span>
      {page < pages ? (
        <Link
          to="/dashboard/optimizations"
          search={addressOf({ ...filter, page: page + 1 })}
          className={place}
        >
          Next
        </Link>
      ) : null}
    </nav>
  );
}
