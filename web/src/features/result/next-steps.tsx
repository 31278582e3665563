import type { ReactNode } from 'react';
import type { NextStep } from '#services/optimizations/contract/result.ts';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import { stepFacts } from '#services/optimizations/reading/words/result.ts';
import type { RunView } from '#services/optimizations/reading/view.ts';
import { doneWords, useTick } from '#web/run/ticks.ts';
import { classNames } from '#web/ui/class-names.ts';
import { FieldError } from '#web/ui/form/field.tsx';
import { Markdown } from '#web/ui/text/markdown.tsx';
import { Cites } from './cites.tsx';

/** The steps in order, each with a box that its owner ticks. */
export function NextSteps({
  run,
  steps,
}: {
  run: Optimization;
  steps: readonly NextStep[];
}): ReactNode {
  const { tick, failure } = useTick(run.id);
  return (
    <>
      <p className="text-sm text-ink-2">{doneWords(steps)}.</p>
      <ol className="space-y-4">
        {steps.map((step, index) => (
          <Step
            // A step is known by its place.
            key={index}
            number={index + 1}
            step={step}
            view={run.council}
            endedAt={run.ended_at}
            error={failure?.step === index ? failure.sentence : null}
            onTick={(isDone) => tick(index, isDone)}
          />
        ))}
      </ol>
    </>
  );
}

/** The steps for a reader of a share link, who has nothing to tick. */
export function ReadSteps({
  run,
  steps,
}: {
  run: Optimization;
  steps: readonly NextStep[];
}): ReactNode {
  return (
    <ol className="list-decimal space-y-4 ps-6 marker:text-ink-3">
      {steps.map((step, index) => (
        // A step is known by its place.
        <li key={index} className="max-w-prose space-y-1">
          <StepText step={step} view={run.council} endedAt={run.ended_at} />
        </li>
      ))}
    </ol>
  );
}

function Step({
  number,
  step,
  view,
  endedAt,
  error,
  onTick,
}: {
  number: number;
  step: NextStep;
  view: RunView;
  endedAt: string | null;
  error: string | null;
  onTick: (done: boolean) => void;
}): ReactNode {
  const errorId = `step-${number}-error`;
  return (
    <li className="flex gap-3">
      <label className="grid size-11 shrink-0 cursor-pointer place-items-center rounded-control hover:bg-sunken">
        <input
          type="checkbox"
          checked={step.done}
          aria-describedby={error === null ? undefined : errorId}
          onChange={(event) => onTick(event.currentTarget.checked)}
          className="size-5 accent-accent"
        />
        <span className="sr-only">Step {number} done</span>
      </label>
      <div className="max-w-prose min-w-0 space-y-1 pt-2">
        <StepText step={step} view={view} endedAt={endedAt} />
        {error === null ? null : <FieldError id={errorId}>{error}</FieldError>}
      </div>
    </li>
  );
}

function StepText({
  step,
  view,
  endedAt,
}: {
  step: NextStep;
  view: RunView;
  endedAt: string | null;
}): ReactNode {
  return (
    <>
      <div className={classNames(step.done && 'text-ink-3 line-through')}>
        <Markdown text={step.action} />
      </div>
      <dl className="space-y-1 text-sm text-ink-2">
        {stepFacts(step, endedAt).map(({ label, text }) => (
          <div key={label}>
            <dt className="inline font-medium">{label}: </dt>
            <dd className="inline">{text}</dd>
          </div>
        ))}
      </dl>
      <Cites ids={step.claim_ids} view={view} />
    </>
  );
}
