import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { OptimizationSummary } from '#services/optimizations/contract/summary.ts';
import { refinementTitle } from '#services/optimizations/reading/words/refinement.ts';
import type { RunView } from '#services/optimizations/reading/view.ts';
import { LinkButton } from '#web/ui/form/button.tsx';

/** Below a heading: what a run refines, and what refines it; nothing for most runs. */
export function RefinementNote({
  view: { refines, refinements, shared },
  showsGiven = false,
}: {
  view: Pick<RunView, 'refines' | 'refinements' | 'shared'>;
  showsGiven?: boolean;
}): ReactNode {
  const newer = refinements.findLast(
    ({ refinement_number: number, status }) =>
      (number ?? 0) > (refines?.number ?? 0) && (status === 'completed' || status === 'processing'),
  );
  if (refines === null && newer === undefined) return null;
  return (
    <div className="space-y-1">
      <p className="flex flex-wrap items-center gap-x-2">
        {refines === null ? null : (
          <>
            <span className="font-medium">{refinementTitle(refines.number)}</span>
            {shared ? null : (
              <>
                <Dot />
                <Link to="/optimizations/$id" params={{ id: refines.root }} className={link}>
                  The first result
                </Link>
              </>
            )}
          </>
        )}
        {newer === undefined ? null : (
          <>
            {refines === null ? null : <Dot />}
            <span>{newer.status === 'processing' ? 'In progress:' : 'Refined since:'}</span>
            <RefinementLink refinement={newer} />
          </>
        )}
      </p>
      {showsGiven && refines !== null && refines.text !== null ? (
        <p className="line-clamp-3 max-w-prose border-s-2 border-line-strong ps-3 text-ink-2">
          {refines.text}
        </p>
      ) : null}
    </div>
  );
}

/** To the chamber while it runs, else to its result. */
export function RefinementLink({
  refinement: { id, status, refinement_number: number },
}: {
  refinement: Pick<OptimizationSummary, 'id' | 'status' | 'refinement_number'>;
}): ReactNode {
  return status === 'processing' ? (
    <Link to="/evolution-chamber" search={{ id }} className={link}>
      {refinementTitle(number ?? 1)}
    </Link>
  ) : (
    <Link to="/optimizations/$id" params={{ id }} className={link}>
      {refinementTitle(number ?? 1)}
    </Link>
  );
}

const link = 'link inline-flex min-h-6 items-center';

function Dot(): ReactNode {
  return <span aria-hidden="true">·</span>;
}

/** From a refinement without a result, back to the result that it started from. */
export function RefineAgain({ runId }: { runId: string }): ReactNode {
  return (
    <LinkButton tone="primary" to="/optimizations/$id" params={{ id: runId }}>
      Back to the result
    </LinkButton>
  );
}
