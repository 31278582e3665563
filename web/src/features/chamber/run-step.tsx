import type { ReactNode } from 'react';
import { creditsOf, statusOf, stepDetails } from '#services/optimizations/reading/describe.ts';
import { moneyWords } from '#services/optimizations/reading/words/money.ts';
import { sameFields, useRunPart } from '#web/live/live.ts';
import type { RunState } from '#web/live/run-state.ts';
import { ClosePage } from './close-page.tsx';
import { classNames } from '#web/ui/class-names.ts';
import { phaseOf } from './announcements.ts';

/** What the run as a whole does now; its room stays the same until its end. */
export function RunStep({ runId }: { runId: string }): ReactNode {
  const { phase, details, isRunning, money } = useRunPart(runId, stepOf, sameFields);
  return (
    <div data-part="step" className="min-h-[5lh] sm:min-h-[3lh] lg:min-h-[2lh]">
      <p className={classNames('font-medium', isRunning && 'min-h-[2lh] sm:min-h-lh')}>
        {phase === null ? details : `${phase}: ${details}`}
      </p>
      <p className="text-ink-2">{isRunning ? <ClosePage /> : money}</p>
    </div>
  );
}

function stepOf({ view }: RunState) {
  return {
    isRunning: statusOf(view) === 'processing',
    phase: phaseOf(view.stage)?.name ?? null,
    details: stepDetails(view),
    money: moneyWords(creditsOf(view)),
  };
}
