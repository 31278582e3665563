import type { ReactNode } from 'react';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import { firstRoundNote } from '#services/optimizations/reading/words/refinement.ts';
import { Asked, askedTitle } from '#web/run/question.tsx';
import { Braid } from '#web/run/braid.tsx';
import { braidOf } from '#web/run/braid-view.ts';
import { Answers } from './answers.tsx';
import { Claims } from './claims.tsx';
import { Computed, computedTitle } from './computed.tsx';
import { Costs, Time } from './costs.tsx';
import { Evidence } from './evidence.tsx';
import { Comparisons } from './order.tsx';
import { Part } from '#web/features/result/section.tsx';

/** What a sheet shows last, and the screen beside the decision. */
function OnPaper({ title, children }: { title: string; children: ReactNode }): ReactNode {
  return (
    <div className="hidden print:block">
      <Part title={title}>{children}</Part>
    </div>
  );
}

/** The votes, the answers and the costs behind a result. */
export function Reached({ run }: { run: Optimization }): ReactNode {
  return (
    <div className="space-y-8">
      <Part title="The panel">
        <Braid view={braidOf(run.council)} />
      </Part>
      <Claims view={run.council} />
      <Comparisons view={run.council} />
      {run.evolution.bias === null ? null : (
        <OnPaper title={`Agreement: ${computedTitle.toLowerCase()}`}>
          <Computed bias={run.evolution.bias} view={run.council} />
        </OnPaper>
      )}
      <OnPaper title={askedTitle(run.council)}>
        <p className="whitespace-pre-wrap">{run.challenge}</p>
        <Asked view={run.council} />
      </OnPaper>
      <Part title="Each model's answer">
        {run.refines === null ? null : <p className="text-ink-2">{firstRoundNote}</p>}
        <Answers run={run} heading="h4" />
      </Part>
      {run.council.shared ? (
        <Time view={run.council} />
      ) : (
        <>
          <Costs run={run} />
          <Evidence run={run} />
        </>
      )}
    </div>
  );
}
