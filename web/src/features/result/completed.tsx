import { Link } from '@tanstack/react-router';
import { type ReactNode, useMemo } from 'react';
import type { BiasAnalysis, Optimization, RunResult } from '#services/optimizations/contract.ts';
import { describeRun } from '#services/optimizations/reading/describe.ts';
import { serverNow, useRunPart } from '#web/live/live.ts';
import { Braid } from '#web/run/braid.tsx';
import { braidOf } from '#web/run/braid-view.ts';
import { Divergence, Flaws } from '#web/run/divergence.tsx';
import { orderingWords } from '#web/run/words.ts';
import { Markdown } from '#web/ui/text/markdown.tsx';
import { Ring } from '#web/ui/ring.tsx';
import { Answers } from './answers.tsx';
import { Claims } from './claims.tsx';
import { Cites } from './cites.tsx';
import { Costs } from './costs.tsx';
import { Degraded } from './degraded.tsx';
import { NextSteps } from './next-steps.tsx';
import { Section } from './section.tsx';
import { Tools } from './tools.tsx';

/** The answer first, the reasons second, the machinery last. */
export function Completed({ runId }: { runId: string }): ReactNode {
  const view = useRunPart(runId, (state) => state.view);
  const run = useMemo(() => describeRun(view, serverNow()), [view]);
  const { result } = run;
  const { bias } = run.evolution;
  if (!result) return null;
  return (
    <>
      <Degraded run={run} />
      <div className="grid grid-cols-1 gap-8 lg:grid-cols-[minmax(0,1fr)_18rem]">
        <Decision run={run} result={result} />
        {bias ? <Agreement bias={bias} /> : null}
      </div>
      <NextSteps steps={result.next_steps} />
      <Reasons result={result} />
      {bias ? <Doubts bias={bias} result={result} /> : null}
      <Section title="The council">
        <Braid view={braidOf(view)} />
      </Section>
      <Claims view={view} />
      <Answers run={run} title="Each model's answer" />
      <Costs view={view} />
    </>
  );
}

const verifiedWords = {
  two: 'Two other models checked it against what the council agreed on.',
  one: 'One other model checked it against what the council agreed on.',
  self: 'Checked by the model that wrote it.',
  none: 'Not independently verified.',
} as const;

function Decision({ run, result }: { run: Optimization; result: RunResult }): ReactNode {
  const isSingle = result.heading === 'best_single_answer';
  return (
    <section aria-labelledby="recommendation" className="space-y-3">
      <h2 id="recommendation" className="text-ink-2 text-xl">
        {isSingle
          ? `Best single answer${result.seat === null ? '' : `, by ${result.seat}`}`
          : 'Recommendation'}
      </h2>
      <p className="max-w-prose font-serif text-3xl">{result.decision}</p>
      {isSingle && run.ended_because !== null ? (
        <p className="max-w-prose text-ink-2">{run.ended_because}</p>
      ) : null}
      <p className="text-sm text-ink-2">{verifiedWords[result.verified]}</p>
      <Tools run={run} />
    </section>
  );
}

function Agreement({ bias }: { bias: BiasAnalysis }): ReactNode {
  return (
    <section aria-labelledby="agreement" className="space-y-3">
      <h2 id="agreement" className="text-center text-xl text-ink-2">
        Agreement
      </h2>
      <Ring
        score={bias.agreement_score}
        {...(bias.agreement_note === null ? {} : { note: bias.agreement_note })}
      />
      <p className="text-center text-sm text-ink-2">{orderingWords(bias)}</p>
      <p className="text-center text-sm">
        <Link to="/method" className="link">
          How this is computed
        </Link>
      </p>
    </section>
  );
}

function Reasons({ result }: { result: RunResult }): ReactNode {
  if (result.sections.length === 0) return null;
  return (
    <Section title="Reasons">
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
    </Section>
  );
}

function Doubts({ bias, result }: { bias: BiasAnalysis; result: RunResult }): ReactNode {
  const report = bias.minority_report;
  const open = [...result.uncertainties, ...bias.uncertainty_factors.map((factor) => factor.text)];
  return (
    <>
      <Section title="Divergences">
        {bias.two_camps ? <p className="font-medium">No winner, two camps.</p> : null}
        {bias.disagreement_areas.length === 0 ? (
          <p className="text-ink-2">No question divides the models.</p>
        ) : (
          <ul className="grid grid-cols-1 gap-6 lg:grid-cols-2">
            {bias.disagreement_areas.map((area) => (
              <li key={area.about}>
                <Divergence area={area} />
                <Cites ids={area.about === 'decision' ? [] : [area.about]} />
              </li>
            ))}
          </ul>
        )}
      </Section>
      {report ? (
        <Section title="Minority report">
          <p className="max-w-prose">
            <span className="font-semibold">{report.seat}</span> would do otherwise:{' '}
            {report.position}
          </p>
          <div className="max-w-prose space-y-3">
            <Flaws report={report} />
          </div>
        </Section>
      ) : null}
      {open.length === 0 ? null : (
        <Section title="What is uncertain">
          <ul className="max-w-prose list-disc space-y-1 ps-5 marker:text-ink-3">
            {open.map((text) => (
              <li key={text}>{text}</li>
            ))}
          </ul>
        </Section>
      )}
    </>
  );
}
