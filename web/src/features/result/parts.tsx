import type { ReactNode } from 'react';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import type { RunResult } from '#services/optimizations/contract/result.ts';
import {
  optionsTitle,
  stepsTitle,
  tieBreakOption,
  tieBreakTitle,
} from '#services/optimizations/reading/words/result.ts';
import {
  changingClaims,
  flawsTitle,
  wouldChangeTitle,
} from '#services/optimizations/reading/words/doubts.ts';
import type { RunView } from '#services/optimizations/reading/view.ts';
import { Chain } from '#web/run/refinement/chain.tsx';
import type { About } from '#web/run/refinement/composer.tsx';
import { Markdown } from '#web/ui/text/markdown.tsx';
import { Cites } from './cites.tsx';
import { entry, WithContents } from './contents.tsx';
import { Outcome, TieBreak } from './decision.tsx';
import { Degraded } from './degraded.tsx';
import { doubtsOf } from './doubts.tsx';
import { Flaws } from './flaws.tsx';
import { Options } from './options.tsx';
import { WhatChanged, WouldChange } from './refined.tsx';
import { TurnedOut, turnedOutAnchor, turnedOutTitleOf } from './turned-out.tsx';
import { Reached } from '#web/features/result/behind/reached.tsx';

/** The answer first, the reasons second, the machinery last. */
export function Parts({
  run,
  result,
  tools,
  steps,
  onAsk,
  above,
  below,
}: {
  run: Optimization;
  result: RunResult;
  /** What can be done with the result, below the decision. */
  tools: ReactNode;
  /** The next steps. */
  steps: ReactNode;
  /** Begins a refinement; null where there can be none. */
  onAsk: ((about: About) => void) | null;
  above?: ReactNode;
  below?: ReactNode;
}): ReactNode {
  return (
    <WithContents
      top={
        <>
          {above}
          <Degraded run={run} />
          <WhatChanged run={run} />
          <Outcome
            run={run}
            result={result}
            tools={tools}
            onMissing={onAsk && ((missing) => onAsk({ claimId: null, missing }))}
          />
          {below}
        </>
      }
      entries={[
        ...entry(
          'options',
          optionsTitle,
          <Options result={result} run={run} />,
          result.options.length > 0,
        ),
        ...entry(
          'today',
          tieBreakTitle,
          <TieBreak run={run} result={result} />,
          tieBreakOption(result) !== null,
        ),
        ...entry(
          'mistakes',
          flawsTitle,
          <Flaws run={run} flaws={result.flaws} />,
          result.flaws.length > 0,
        ),
        ...entry('next-steps', stepsTitle(result), steps, result.next_steps.length > 0),
        ...entry(
          turnedOutAnchor,
          turnedOutTitleOf(run),
          <TurnedOut run={run} />,
          run.outcomes.length > 0 || run.outcome_question !== null,
        ),
        ...entry(
          'would-change',
          wouldChangeTitle,
          <WouldChange run={run} onDifferent={onAsk && ((claimId) => onAsk({ claimId }))} />,
          changingClaims(run.council).length > 0,
        ),
        ...entry(
          'reasons',
          'Reasons',
          <Reasons result={result} view={run.council} />,
          result.sections.length > 0,
        ),
        ...(run.evolution.bias === null ? [] : doubtsOf(run, result, run.evolution.bias)),
        ...entry('refinements', 'Refinements', <Chain run={run} />, run.refinements.length > 0),
        ...entry('reached', 'How this was reached', <Reached run={run} />),
      ]}
    />
  );
}

function Reasons({ result, view }: { result: RunResult; view: RunView }): ReactNode {
  return (
    <div className="space-y-6">
      {result.sections.map((section) => (
        <section key={section.heading} className="space-y-3">
          <h3 className="text-lg font-semibold">{section.heading}</h3>
          {section.blocks.map((block) => (
            <div key={block.text}>
              <Markdown text={block.text} />
              <Cites ids={block.claim_ids} view={view} />
            </div>
          ))}
        </section>
      ))}
    </div>
  );
}
