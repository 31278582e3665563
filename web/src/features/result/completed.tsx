import { type ReactNode, useMemo, useState } from 'react';
import type { Optimization, RunResult } from '#services/optimizations/contract.ts';
import { describeRun } from '#services/optimizations/reading/describe.ts';
import {
  flawsTitle,
  optionsTitle,
  stepsTitle,
  tieBreakOption,
  tieBreakTitle,
} from '#services/optimizations/reading/result-words.ts';
import { changingClaims, wouldChangeTitle } from '#services/optimizations/refinement/words.ts';
import { serverNow, useRunPart } from '#web/live/live.ts';
import { Chain } from '#web/run/refinement/chain.tsx';
import { type About, Composer } from '#web/run/refinement/composer.tsx';
import { useTicked } from '#web/run/ticks.ts';
import { Markdown } from '#web/ui/text/markdown.tsx';
import { Cites } from './cites.tsx';
import { type Entry, WithContents } from './contents.tsx';
import { Outcome, TieBreak } from './decision.tsx';
import { Degraded } from './degraded.tsx';
import { doubtsOf } from './doubts.tsx';
import { Flaws } from './flaws.tsx';
import { NextSteps } from './next-steps.tsx';
import { Options } from './options.tsx';
import { WhatChanged, WouldChange } from './refined.tsx';
import { Reached } from '#web/features/result/behind/reached.tsx';

/** The page of a finished run. */
export function Completed({ runId }: { runId: string }): ReactNode {
  const view = useRunPart(runId, (state) => state.view);
  const run = useTicked(useMemo(() => describeRun(view, serverNow()), [view]));
  return <Findings run={run} />;
}

/** The answer first, the reasons second, the machinery last. */
export function Findings({ run }: { run: Optimization }): ReactNode {
  const { result, refinable } = run;
  const [about, setAbout] = useState<About | null>(null);
  if (!result) return null;
  const isRefinable = refinable?.allowed ?? false;
  return (
    <WithContents
      top={
        <>
          <Degraded run={run} />
          <WhatChanged run={run} />
          <Outcome run={run} result={result} onRefine={() => setAbout({ claimId: null })} />
          <Composer runId={run.id} about={about} onClose={() => setAbout(null)} />
        </>
      }
      entries={[
        ...choiceOf(run, result),
        ...(result.flaws.length === 0
          ? []
          : [
              {
                id: 'mistakes',
                title: flawsTitle,
                body: <Flaws run={run} flaws={result.flaws} />,
              },
            ]),
        ...(result.next_steps.length === 0
          ? []
          : [
              {
                id: 'next-steps',
                title: stepsTitle(result),
                body: <NextSteps run={run} steps={result.next_steps} />,
              },
            ]),
        ...(changingClaims(run.council).length === 0
          ? []
          : [
              {
                id: 'would-change',
                title: wouldChangeTitle,
                body: (
                  <WouldChange
                    run={run}
                    onDifferent={isRefinable ? (claimId) => setAbout({ claimId }) : null}
                  />
                ),
              },
            ]),
        ...(result.sections.length === 0
          ? []
          : [{ id: 'reasons', title: 'Reasons', body: <Reasons result={result} /> }]),
        ...(run.evolution.bias === null ? [] : doubtsOf(run, result, run.evolution.bias)),
        ...(run.refinements.length === 0
          ? []
          : [{ id: 'refinements', title: 'Refinements', body: <Chain run={run} /> }]),
        { id: 'reached', title: 'How this was reached', body: <Reached run={run} /> },
      ]}
    />
  );
}

/** What to choose from where no option was chosen. */
function choiceOf(run: Optimization, result: RunResult): Entry[] {
  const tieBreak = tieBreakOption(result);
  return [
    ...(result.options.length === 0
      ? []
      : [
          {
            id: 'options',
            title: optionsTitle,
            body: <Options options={result.options} run={run} />,
          },
        ]),
    ...(tieBreak === null
      ? []
      : [
          {
            id: 'today',
            title: tieBreakTitle,
            body: <TieBreak result={result} option={tieBreak} />,
          },
        ]),
  ];
}

function Reasons({ result }: { result: RunResult }): ReactNode {
  return (
    <div className="space-y-6">
      {result.sections.map((section) => (
        <section key={section.heading} className="space-y-3">
          <h3 className="text-lg font-semibold">{section.heading}</h3>
          {section.blocks.map((block) => (
            <div key={block.text}>
              <Markdown text={block.text} />
              <Cites ids={block.claim_ids} />
            </div>
          ))}
        </section>
      ))}
    </div>
  );
}
