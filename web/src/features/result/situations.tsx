import { Link } from '@tanstack/react-router';
import { listed } from '#services/models/seating/words.ts';
import { type ReactNode, useRef, useState } from 'react';
import { Optimization } from '#services/optimizations/contract/run.ts';
import { describeRun } from '#services/optimizations/reading/describe.ts';
import { ApiProblem, write } from '#web/api/api.ts';
import { reloadRun, sameFields, useRunPart } from '#web/live/live.ts';
import type { RunState } from '#web/live/run-state.ts';
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

/** A run that was never started: nothing is charged until it is. */
export function Pending({ runId }: { runId: string }): ReactNode {
  const price = useRunPart(runId, (state) => state.view.price);
  const [sending, setSending] = useState<'process' | 'cancel' | null>(null);
  const [failure, setFailure] = useState<unknown>(null);
  const keys = useRef({ process: crypto.randomUUID(), cancel: crypto.randomUUID() });

  const send = async (command: 'process' | 'cancel'): Promise<void> => {
    setSending(command);
    setFailure(null);
    try {
      const path = `/optimizations/${encodeURIComponent(runId)}/${command}` as const;
      await write('POST', path, {}, Optimization, { key: keys.current[command] });
      await reloadRun(runId);
    } catch (error) {
      setFailure(error);
      keys.current[command] = crypto.randomUUID();
    } finally {
      setSending(null);
    }
  };

  return (
    <Card className="space-y-4">
      <p>
        This run hasn't started. Nothing was charged
        {price === 0 ? ', and it is included.' : `; it costs ${creditsInWords(price)}.`}
      </p>
      {failure === null ? null : <StartFailure error={failure} />}
      <div className="flex flex-wrap gap-3">
        <Button
          tone="primary"
          busy={sending === 'process'}
          disabled={sending !== null}
          onClick={() => void send('process')}
        >
          {sending === 'process' ? 'Initializing AI Models...' : 'Start'}
        </Button>
        <Button
          busy={sending === 'cancel'}
          disabled={sending !== null}
          onClick={() => void send('cancel')}
        >
          Cancel
        </Button>
      </div>
    </Card>
  );
}

function StartFailure({ error }: { error: unknown }): ReactNode {
  const isShort = error instanceof ApiProblem && error.status === 402;
  const isOwing = isShort && error.code === 'debt';
  const isDearer = error instanceof ApiProblem && error.code === 'price-changed';
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
      announced={problemSentence(error)}
      actions={
        isShort ? (
          <LinkButton to="/credits">View Credit Balance</LinkButton>
        ) : isDearer ? (
          <LinkButton to="/optimization">New Optimization</LinkButton>
        ) : undefined
      }
    >
      <p>{problemSentence(error)}</p>
      <p>Nothing was charged.</p>
    </Notice>
  );
}

export function Failed({ runId }: { runId: string }): ReactNode {
  const end = useRunPart(runId, endOf, sameFields);
  return (
    <Notice
      tone="bad"
      title="The run failed"
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
      title="The run was cancelled"
      actions={<Again runId={runId} refined={end.refined} label="Duplicate" />}
    >
      {end.because === null ? null : <p>{end.because}</p>}
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
