import type { ReactNode } from 'react';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import { firstRoundNote } from '#services/optimizations/reading/words/refinement.ts';
import { Braid } from '#web/run/braid.tsx';
import { braidOf } from '#web/run/braid-view.ts';
import { Answers } from './answers.tsx';
import { Claims } from './claims.tsx';
import { Costs } from './costs.tsx';
import { Comparisons } from './order.tsx';
import { Part } from '#web/features/result/section.tsx';

/** The votes, the answers and the costs behind a result. */
export function Reached({ run }: { run: Optimization }): ReactNode {
  return (
    <div className="space-y-8">
      <Part title="The panel">
        <Braid view={braidOf(run.council)} />
      </Part>
      <Claims view={run.council} />
      <Comparisons view={run.council} />
      <Part title="Each model's answer">
        {run.refines === null ? null : <p className="text-ink-2">{firstRoundNote}</p>}
        <Answers run={run} heading="h4" />
      </Part>
      <Costs run={run} />
    </div>
  );
}
