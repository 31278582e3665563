import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { refinementTitle } from '#services/optimizations/refinement/words.ts';
import type { RunView } from '#services/optimizations/reading/view.ts';
import { LinkButton } from '#web/ui/form/button.tsx';

/** Below a heading: that a run refines another, and what it was given; nothing for any other run. */
export function RefinementNote({
  view: { refines, refinements },
  showsGiven = false,
}: {
  view: Pick<RunView, 'refines' | 'refinements'>;
  showsGiven?: boolean;
}): ReactNode {
  if (refines === null) return null;
  return (
    <div className="space-y-1">
      <p className="flex flex-wrap items-center gap-x-2">
        <span className="font-medium">{refinementTitle(refines.number, refinements.length)}</span>
        <span aria-hidden="true">·</span>
        <Link
          to="/optimizations/$id"
          params={{ id: refines.root }}
          className="link inline-flex min-h-6 items-center"
        >
          The first result
        </Link>
      </p>
      {showsGiven && refines.text !== null ? (
        <p className="line-clamp-3 max-w-prose border-s-2 border-line-strong ps-3 text-ink-2">
          {refines.text}
        </p>
      ) : null}
    </div>
  );
}

/** From a refinement without a result, back to the result that it started from. */
export function RefineAgain({ runId }: { runId: string }): ReactNode {
  return (
    <LinkButton tone="primary" to="/optimizations/$id" params={{ id: runId }}>
      Back to the result
    </LinkButton>
  );
}
