import { type ReactNode, useMemo, useState } from 'react';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import { describeRun } from '#services/optimizations/reading/describe.ts';
import { serverNow, useRunPart } from '#web/live/live.ts';
import { type About, Composer } from '#web/run/refinement/composer.tsx';
import { useTicked } from '#web/run/ticks.ts';
import { NextSteps } from './next-steps.tsx';
import { Parts } from './parts.tsx';
import { NewerAnswer } from './refined.tsx';
import { Tools } from './tools/tools.tsx';

/** The page of a finished run. */
export function Completed({ runId }: { runId: string }): ReactNode {
  const view = useRunPart(runId, (state) => state.view);
  const run = useTicked(useMemo(() => describeRun(view, serverNow()), [view]));
  return <Findings run={run} />;
}

/** A result with what its owner can do with it. */
export function Findings({ run }: { run: Optimization }): ReactNode {
  const { result, refinable } = run;
  const [about, setAbout] = useState<About | null>(null);
  if (!result) return null;
  return (
    <Parts
      run={run}
      result={result}
      tools={<Tools run={run} onRefine={() => setAbout({ claimId: null })} />}
      steps={<NextSteps run={run} steps={result.next_steps} />}
      onAsk={refinable?.allowed === true ? setAbout : null}
      above={<NewerAnswer run={run} />}
      below={<Composer runId={run.id} about={about} onClose={() => setAbout(null)} />}
    />
  );
}
