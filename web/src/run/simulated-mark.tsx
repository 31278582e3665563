import { FlaskConical } from 'lucide-react';
import type { ReactNode } from 'react';
import { simulatedNotice, simulatedPartOf } from '#services/optimizations/reading/simulated.ts';
import type { RunView } from '#services/optimizations/reading/view.ts';

/** Shown for as long as the run is on screen; the figures of the answers belong to the case's question. */
export function SimulatedMark(view: Pick<RunView, 'seats' | 'standIn' | 'shared'>): ReactNode {
  const notice = simulatedNotice(simulatedPartOf(view));
  if (notice === null) return null;
  const { standIn } = view;
  return (
    <div className="flex items-start gap-2 text-ink-2">
      <FlaskConical size={16} aria-hidden="true" className="mt-1 shrink-0" />
      <div className="space-y-1">
        <p>{notice}</p>
        {standIn === null || standIn.exact ? null : (
          <>
            <p className="max-w-prose text-sm">
              The question of the case: “{standIn.question.challenge}”
            </p>
            <details className="max-w-prose text-sm print:hidden">
              <summary className="-mb-2 min-h-11 cursor-pointer py-2.5">
                What it says about the business
              </summary>
              <p>{standIn.question.context}</p>
            </details>
          </>
        )}
      </div>
    </div>
  );
}
