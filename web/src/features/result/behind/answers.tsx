import { type ReactNode, useMemo } from 'react';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import { describeRun } from '#services/optimizations/reading/describe.ts';
import { opinionOf } from '#services/optimizations/reading/texts.ts';
import { useRunPart } from '#web/live/live.ts';
import { Answer } from '#web/run/answer.tsx';
import { roleColours } from '#web/run/drawing/roles.ts';
import { Files } from '#web/features/result/tools/files.tsx';
import { Evidence } from './evidence.tsx';
import { Section } from '#web/features/result/section.tsx';

/** What each seat answered, or why it did not. */
export function Answers({
  run,
  heading,
  open = false,
}: {
  run: Optimization;
  /** Of the parts of an answer. */
  heading: 'h3' | 'h4';
  /** Whether the answers are unfolded at first. */
  open?: boolean;
}): ReactNode {
  return (
    <ul className="divide-y divide-line border-y border-line">
      {run.models.map((model) => (
        <li key={model.seat}>
          <AnswerOf run={run} model={model} heading={heading} open={open} />
        </li>
      ))}
    </ul>
  );
}

function AnswerOf({
  run,
  model,
  heading,
  open,
}: {
  run: Optimization;
  model: Optimization['models'][number];
  heading: 'h3' | 'h4';
  open: boolean;
}): ReactNode {
  const opinion = opinionOf(run.council, model.seat);
  const line = (
    <>
      <span className={`font-semibold ${roleColours[model.role]}`}>{model.seat}</span>
      <span className="font-medium">{model.name}</span>
      <span className="min-w-0 text-ink-2">
        {model.reason ?? opinion?.recommendation.option_label ?? ''}
      </span>
    </>
  );
  if (opinion === null)
    return <p className="flex min-h-12 flex-wrap items-baseline gap-x-3 py-3">{line}</p>;
  return (
    <details className="group" open={open}>
      <summary className="flex min-h-12 cursor-pointer flex-wrap items-baseline gap-x-3 py-3">
        {line}
      </summary>
      <div className="pb-6">
        <Answer view={run.council} seat={model.seat} heading={heading} />
      </div>
    </details>
  );
}

/** The answers of a run that ended without a recommendation. */
export function ArrivedAnswers({ runId }: { runId: string }): ReactNode {
  const view = useRunPart(runId, (state) => state.view);
  const run = useMemo(() => describeRun(view, 0), [view]);
  const arrived = run.models.filter(({ seat }) => opinionOf(view, seat) !== null).length;
  if (arrived === 0) return null;
  const count = `${arrived} of ${run.models.length} models had answered.`;
  const because =
    view.scores === null
      ? "The models hadn't reviewed these answers yet, so there is no recommendation."
      : 'The answers were reviewed, but no recommendation was written yet.';
  return (
    <Section title="The answers that arrived">
      <p className="max-w-prose text-ink-2">{`${count} ${because}`}</p>
      <div className="flex flex-wrap gap-2 print:hidden">
        <Files run={run} />
      </div>
      <Answers run={run} heading="h3" open />
      <Evidence run={run} />
    </Section>
  );
}
