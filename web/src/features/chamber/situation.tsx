import { type ReactNode, useEffect, useState } from 'react';
import { describeRun, statusOf } from '#services/optimizations/reading/describe.ts';
import { sameFields, useRunPart } from '#web/live/live.ts';
import type { RunState } from '#web/live/run-state.ts';
import { LinkButton } from '#web/ui/form/button.tsx';
import { moneyWords } from '#services/optimizations/reading/words/money.ts';
import { RefineAgain } from '#web/run/refinement/note.tsx';
import { Notice } from '#web/ui/feedback/notice.tsx';
import { Status } from '#web/ui/feedback/status.tsx';
import { RunStep } from './run-step.tsx';

/** In the place of the cancel button. */
export function ResultReady({ runId }: { runId: string }): ReactNode {
  const end = useRunPart(runId, endOf, sameFields);
  if (end.status !== 'completed') return null;
  return (
    <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
      <p className="text-sm font-semibold">
        <Status tone="ok">Result ready</Status>
      </p>
      <LinkButton tone="primary" to="/optimizations/$id" params={{ id: runId }}>
        View results
      </LinkButton>
    </div>
  );
}

/** What the run does now, or how it ended without a result, what it cost, and the next steps. */
export function Situation({ runId }: { runId: string }): ReactNode {
  const end = useRunPart(runId, endOf, sameFields);
  switch (end.status) {
    case 'pending':
      return <NotStarted runId={runId} />;
    case 'processing':
    case 'completed':
      return <RunStep runId={runId} />;
    case 'failed':
    case 'cancelled':
      return (
        <Notice
          tone={end.status === 'failed' ? 'bad' : 'info'}
          title={end.status === 'failed' ? 'The run failed' : 'The run was canceled'}
          actions={
            <>
              {end.refined === null ? (
                <LinkButton tone="primary" to="/optimization" search={{ from: runId }}>
                  Ask again
                </LinkButton>
              ) : (
                <RefineAgain runId={end.refined} />
              )}
              <LinkButton to="/optimizations/$id" params={{ id: runId }}>
                View details
              </LinkButton>
            </>
          }
        >
          {end.because === null ? null : <p>{end.because}</p>}
          <p>{end.money}</p>
        </Notice>
      );
  }
}

/** Every run is briefly pending at its start; only one that stays pending was never started. */
const waitForStartMs = 4_000;

function NotStarted({ runId }: { runId: string }): ReactNode {
  const [isLate, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), waitForStartMs);
    return () => clearTimeout(timer);
  }, []);
  if (!isLate) return <RunStep runId={runId} />;
  return (
    <Notice
      title="This run hasn't started"
      actions={
        <LinkButton tone="primary" to="/optimizations/$id" params={{ id: runId }}>
          Open the run
        </LinkButton>
      }
    >
      Nothing was charged.
    </Notice>
  );
}

function endOf({ view }: RunState) {
  const status = statusOf(view);
  // A running run has no end to describe, and this renders ten times a second.
  const refined = view.refines?.previous ?? null;
  if (status === 'processing') return { status, because: null, money: '', refined };
  const { ended_because: because, credits } = describeRun(view, 0);
  return { status, because, money: moneyWords(credits), refined };
}
