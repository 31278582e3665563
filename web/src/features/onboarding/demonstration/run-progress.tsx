import { Link } from '@tanstack/react-router';
import { type ReactNode, useEffect } from 'react';
import { describeRun, statusOf, summarize } from '#services/optimizations/reading/describe.ts';
import type { RunView } from '#services/optimizations/reading/view.ts';
import { reloadRun, sameFields, serverNow, useRun, useRunPart } from '#web/live/live.ts';
import type { RunState } from '#web/live/run-state.ts';
import { SimulatedMark } from '#web/run/simulated-mark.tsx';
import { announce } from '#web/ui/feedback/announcer.tsx';
import { ErrorState } from '#web/ui/feedback/error-state.tsx';
import { Loading, Skeleton } from '#web/ui/feedback/skeleton.tsx';
import { Button, LinkButton } from '#web/ui/form/button.tsx';
import { DemoSteps } from './demo-steps.tsx';
import { demoStepOf, minutesInWords } from '#web/features/onboarding/words.ts';

/** A real run, as the server reports it. */
export function RunProgress({
  runId,
  isStarting,
  onStart,
  onForget,
}: {
  runId: string;
  isStarting: boolean;
  /** Starts a run that was created and not started. */
  onStart: () => void;
  /** Leaves this run and shows the question again. */
  onForget: () => void;
}): ReactNode {
  const phase = useRun(runId);
  if (phase.status === 'missing')
    return (
      <div className="space-y-3">
        <p>This run was deleted.</p>
        <Button onClick={onForget}>Ask again</Button>
      </div>
    );
  if (phase.status === 'failed')
    return (
      <ErrorState
        title="Failed to load optimization data"
        detail={phase.message}
        safe="Your run continues."
        onRetry={() => void reloadRun(runId)}
      />
    );
  return (
    <Loading
      loading={phase.status === 'loading'}
      label="Loading the run"
      skeleton={<Skeleton className="h-60" />}
    >
      {() => <Ready runId={runId} isStarting={isStarting} onStart={onStart} onForget={onForget} />}
    </Loading>
  );
}

function Ready({
  runId,
  isStarting,
  onStart,
  onForget,
}: Parameters<typeof RunProgress>[0]): ReactNode {
  const { status, progress, step, detail, outcome, minutes } = useRunPart(
    runId,
    partsOf,
    sameFields,
  );
  const seats = useRunPart(runId, ({ view }: RunState) => view.seats);
  const standIn = useRunPart(runId, ({ view }: RunState) => view.standIn);
  const reached = demoStepOf(step);
  useEffect(() => {
    if (status === 'processing') announce(`Your run: ${reached}`);
    if (status === 'completed') announce('Your run is done.');
  }, [status, reached]);
  return (
    <div className="space-y-4">
      <SimulatedMark seats={seats} standIn={standIn} />
      <DemoSteps label="Progress of your run" reached={reached} progress={progress} />
      {status === 'pending' && isStarting ? (
        <p className="text-ink-2">Your run is about to start.</p>
      ) : status === 'pending' ? (
        <div className="space-y-3">
          <p>This run was not started. Nothing was charged.</p>
          <div className="flex flex-wrap gap-3">
            <Button tone="primary" onClick={onStart}>
              Start run
            </Button>
            <Button onClick={onForget}>Edit question</Button>
          </div>
        </div>
      ) : status === 'processing' ? (
        <p className="text-ink-2">
          {detail}. Your run continues if you leave this page.{' '}
          <Link to="/evolution-chamber" search={{ id: runId }} className="link">
            Watch it in the Evolution Chamber
          </Link>
        </p>
      ) : status === 'completed' ? (
        <div className="space-y-3">
          <p>
            {outcome === null ? 'Your run is done.' : `${outcome}.`}
            {minutes === null ? '' : ` It took ${minutesInWords(minutes)}.`}
          </p>
          <LinkButton to="/optimizations/$id" params={{ id: runId }}>
            View Results
          </LinkButton>
        </div>
      ) : (
        <div className="space-y-3">
          <p>
            {status === 'failed' ? 'Your run failed.' : 'Your run was canceled.'} Its page shows
            what was charged and returned.
          </p>
          <div className="flex flex-wrap gap-3">
            <LinkButton to="/optimizations/$id" params={{ id: runId }}>
              See run
            </LinkButton>
            <Button onClick={onForget}>Ask again</Button>
          </div>
        </div>
      )}
    </div>
  );
}

function partsOf({ view }: RunState) {
  const { status, progress, outcome } = summarize(view);
  const { current_step: step, step_details: detail } = describeRun(view, serverNow()).evolution;
  return { status, progress, outcome, step, detail, minutes: measuredMinutes(view) };
}

/** How long a completed run took; null for any other. */
export function measuredMinutes(view: RunView): number | null {
  const { startedAt, endedAt } = view;
  if (startedAt === null || endedAt === null || statusOf(view) !== 'completed') return null;
  return Math.max(0, Date.parse(endedAt) - Date.parse(startedAt)) / 60_000;
}
