import { Link } from '@tanstack/react-router';
import { listed } from '#services/models/seating/words.ts';
import { type ReactNode, useRef, useState } from 'react';
import { Optimization } from '#services/optimizations/contract/run.ts';
import { describeRun } from '#services/optimizations/reading/describe.ts';
import { ApiProblem, write } from '#web/api/api.ts';
import { isRefusal } from '#web/api/refused.ts';
import { reloadRun, sameFields, useRunPart } from '#web/live/live.ts';
import type { RunState } from '#web/live/run-state.ts';
import { problemButtons } from '#web/api/problem-buttons.tsx';
import { problemSentence } from '#web/api/problem-words.ts';
import { moneyWords } from '#services/optimizations/reading/words/money.ts';
import { RefineAgain } from '#web/run/refinement/note.tsx';
import { Button, LinkButton } from '#web/ui/form/button.tsx';
import { Card } from '#web/ui/card.tsx';
import { creditsInWords } from '#services/platform/numbers.ts';
import { percent } from '#web/ui/text/figures.ts';
import { Notice } from '#web/ui/feedback/notice.tsx';
import { ProgressBar } from '#web/ui/feedback/progress-bar.tsx';

/** A running run: its progress, and the link to watch it. */
export function Running({ runId }: { runId: string }): ReactNode {
  const run = useRunPart(runId, runningOf, sameFields);
  return (
    <Card className="space-y-3">
      <div className="flex flex-wrap items-center justify-between gap-3">
        <p>
          <span className="font-semibold">{percent(run.progress)}</span>
          <span className="text-ink-2"> · {run.details}</span>
        </p>
        <LinkButton tone="primary" to="/evolution-chamber" search={{ id: runId }}>
          View Progress
        </LinkButton>
      </div>
      <ProgressBar label="Overall progress" value={run.progress} />
    </Card>
  );
}

function runningOf({ view }: RunState) {
  const run = describeRun(view, 0);
  return { progress: run.progress, details: run.evolution.step_details };
}

/** A run that was never started: nothing is charged until it is. Its actions above delete it. */
export function Pending({ runId }: { runId: string }): ReactNode {
  const price = useRunPart(runId, (state) => state.view.price);
  const [isSending, setSending] = useState(false);
  const [failure, setFailure] = useState<unknown>(null);
  const key = useRef(crypto.randomUUID());

  const start = async (): Promise<void> => {
    setSending(true);
    setFailure(null);
    try {
      const path = `/optimizations/${encodeURIComponent(runId)}/process` as const;
      await write('POST', path, {}, Optimization, { key: key.current });
      await reloadRun(runId);
    } catch (error) {
      setFailure(error);
      // A start whose end is unknown is repeated under the same key.
      if (isRefusal(error)) key.current = crypto.randomUUID();
    } finally {
      setSending(false);
    }
  };

  return (
    <Card className="space-y-4">
      <p>
        This run hasn't started, so you haven't been charged.{' '}
        {price === 0 ? 'It is included.' : `It costs ${creditsInWords(price)}.`}
      </p>
      {failure === null ? null : <StartFailure error={failure} />}
      <Button tone="primary" busy={isSending} disabled={isSending} onClick={() => void start()}>
        {isSending ? 'Initializing AI Models...' : 'Start'}
      </Button>
    </Card>
  );
}

function StartFailure({ error }: { error: unknown }): ReactNode {
  const isShort = error instanceof ApiProblem && error.status === 402;
  const isOwing = isShort && error.code === 'debt';
  const isDearer = error instanceof ApiProblem && error.code === 'price-changed';
  const sentence = problemSentence(error);
  const safe = isRefusal(error)
    ? "You weren't charged."
    : "We don't know if it started. It's safe to try again: a run starts only once.";
  return (
    <Notice
      tone={isShort ? 'warn' : 'bad'}
      title={
        isOwing
          ? 'Credits owed'
          : isShort
            ? 'Insufficient Credits'
            : 'Failed to start optimization. Please try again.'
      }
      announced={`${sentence} ${safe}`}
      actions={
        isDearer ? (
          <LinkButton to="/optimization">New Optimization</LinkButton>
        ) : (
          problemButtons(error)
        )
      }
    >
      <p>{sentence}</p>
      <p>{safe}</p>
    </Notice>
  );
}

export function Failed({ runId }: { runId: string }): ReactNode {
  const end = useRunPart(runId, endOf, sameFields);
  return (
    <Notice
      tone="bad"
      title="This run failed"
      actions={<Again runId={runId} refined={end.refined} label="Retry" />}
    >
      {end.because === null ? null : <p>{end.because}</p>}
      {end.reasons === '' ? null : <p>{end.reasons}</p>}
      <p>
        {end.money}{' '}
        <Link to="/terms" hash="failed-runs" className="link">
          Read the full rule
        </Link>
      </p>
    </Notice>
  );
}

export function Cancelled({ runId }: { runId: string }): ReactNode {
  const end = useRunPart(runId, endOf, sameFields);
  return (
    <Notice
      title={end.because?.replace(/\.$/, '') ?? 'This run was canceled'}
      actions={<Again runId={runId} refined={end.refined} label="Duplicate" />}
    >
      <p>{end.money}</p>
    </Notice>
  );
}

function endOf({ view }: RunState) {
  const { ended_because: because, credits, models } = describeRun(view, 0);
  const reasons = [...Map.groupBy(models, ({ reason }) => reason)]
    .flatMap(([reason, seats]) => (reason === null ? [] : [{ reason, seats }]))
    .map(({ reason, seats }) => `${reason}: ${listed(seats.map(({ name }) => name))}.`)
    .join(' ');
  const refined = view.refines?.previous ?? null;
  return { because, reasons, money: moneyWords(credits), refined };
}

/** A refinement is asked for again from the result that it started from. */
function Again({
  runId,
  refined,
  label,
}: {
  runId: string;
  refined: string | null;
  label: string;
}): ReactNode {
  return refined === null ? (
    <LinkButton tone="primary" to="/optimization" search={{ from: runId }}>
      {label}
    </LinkButton>
  ) : (
    <RefineAgain runId={refined} />
  );
}
