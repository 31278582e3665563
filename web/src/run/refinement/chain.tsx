import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import { runCredits } from '#services/optimizations/reading/words/money.ts';
import { refinementTitle } from '#services/optimizations/reading/words/refinement.ts';
import { runStatusWords } from '#services/optimizations/reading/words/status.ts';
import { runStatusTones } from '#web/run/words.ts';
import { Status } from '#web/ui/feedback/status.tsx';
import { RelativeTime } from '#web/ui/text/relative-time.tsx';
import { RefinementLink } from './note.tsx';

/** The refinements of a run; on the page of a refinement, its first result too. */
export function Chain({ run }: { run: Optimization }): ReactNode {
  const { id, refines, refinements } = run;
  return (
    <ul className="max-w-prose divide-y divide-line border-y border-line">
      {refines === null ? null : (
        <li className="py-3">
          <Link
            to="/optimizations/$id"
            params={{ id: refines.root_id }}
            className="link inline-flex min-h-6 items-center"
          >
            The first result
          </Link>
        </li>
      )}
      {refinements.map((one) => (
        <li key={one.id} className="flex flex-wrap items-center gap-x-3 gap-y-1 py-3">
          {one.id === id ? (
            <span className="font-medium">
              {refinementTitle(one.refinement_number ?? 1)}, this page
            </span>
          ) : (
            <RefinementLink refinement={one} />
          )}
          <span className="flex flex-wrap items-center gap-x-3 text-sm text-ink-2">
            <Status tone={runStatusTones[one.status]}>{runStatusWords[one.status]}</Status>
            <span>{runCredits(one)}</span>
            <RelativeTime at={one.created_at} />
          </span>
        </li>
      ))}
    </ul>
  );
}
