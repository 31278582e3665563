import type { ReactNode } from 'react';
import type { RunView } from '#services/optimizations/reading/view.ts';
import { differentMark, isDifferent } from '#services/optimizations/reading/words/refinement.ts';

export const claimAnchor = (id: string): string => `claim-${id}`;

/** The claims a statement rests on, as links. With the view, those that the person corrected are marked. */
export function Cites({ ids, view }: { ids: readonly string[]; view?: RunView }): ReactNode {
  if (ids.length === 0) return null;
  return (
    <p className="mt-1 flex flex-wrap gap-x-3 text-sm text-ink-3 print:ms-2 print:inline">
      <span className="sr-only">Claims: </span>
      {ids.map((id) => (
        <span key={id} className="inline-flex flex-wrap items-center gap-x-1">
          <a href={`#${claimAnchor(id)}`} className="link inline-flex min-h-6 items-center">
            {id}
          </a>
          {view && isDifferent(view, id) ? (
            <span className="text-ink-2">({differentMark(view)})</span>
          ) : null}
        </span>
      ))}
    </p>
  );
}
