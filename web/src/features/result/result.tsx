import { lazy, type ReactNode, Suspense, useEffect, useRef } from 'react';
import { strategyName } from '#services/optimizations/reading/words/names.ts';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import { statusOf } from '#services/optimizations/reading/describe.ts';
import { erased } from '#services/optimizations/reading/texts.ts';
import { type RunView } from '#services/optimizations/reading/view.ts';
import { runStatusWords } from '#services/optimizations/reading/words/status.ts';
import { reloadRun, useRun, useRunPart } from '#web/live/live.ts';
import { Question } from '#web/run/question.tsx';
import { RunPanelNote } from '#web/run/panel-note.tsx';
import { RefinementNote } from '#web/run/refinement/note.tsx';
import { SimulatedMark } from '#web/run/simulated-mark.tsx';
import { runStatusTones } from '#web/run/words.ts';
import { announce } from '#web/ui/feedback/announcer.tsx';
import { ErrorState } from '#web/ui/feedback/error-state.tsx';
import { productName, windowTitle } from '#web/app/product.ts';
import { day } from '#web/ui/text/day.ts';
import { useWindowTitle } from '#web/ui/use-window-title.ts';
import { RelativeTime } from '#web/ui/text/relative-time.tsx';
import { Loading, Skeleton } from '#web/ui/feedback/skeleton.tsx';
import { Status } from '#web/ui/feedback/status.tsx';
import { usePrintedWhole } from './tools/printed-whole.ts';
import { Cancelled, Failed, Pending, Running } from './situations.tsx';

/** Only a run that has ended needs the code that draws these. */
const Completed = lazy(() =>
  import('./completed.tsx').then((module) => ({ default: module.Completed })),
);

const ArrivedAnswers = lazy(() =>
  import('#web/features/result/behind/answers.tsx').then((module) => ({
    default: module.ArrivedAnswers,
  })),
);

type Actions = (run: {
  id: string;
  title: string;
  status: Optimization['status'];
  isRefinement: boolean;
  refinements: number;
}) => ReactNode;

/** A run's page: its result, or its progress. */
export function Result({
  runId,
  missing,
  renderActions,
}: {
  runId: string;
  missing: ReactNode;
  /** The actions of any run, below its heading. */
  renderActions: Actions;
}): ReactNode {
  const phase = useRun(runId);
  if (phase.status === 'missing') return missing;
  if (phase.status === 'failed') {
    return (
      <div className="mx-auto max-w-page space-y-6 px-4 pt-8 sm:px-6">
        <h1 className="text-4xl">Result</h1>
        <ErrorState
          title="Failed to load optimization data"
          detail={phase.message}
          safe="Nothing is lost. This page will try again on its own."
          onRetry={() => void reloadRun(runId)}
        />
      </div>
    );
  }
  return (
    <Loading loading={phase.status === 'loading'} label="Loading the result" skeleton={<Outline />}>
      {() => <Run key={runId} runId={runId} renderActions={renderActions} />}
    </Loading>
  );
}

function Run({ runId, renderActions }: { runId: string; renderActions: Actions }): ReactNode {
  const status = useRunPart(runId, (state) => statusOf(state.view));
  const title = useRunPart(runId, (state) => state.view.title ?? erased);
  // A browser names the file it prints to after the title.
  useWindowTitle(windowTitle(title));
  usePrintedWhole();
  const announced = useRef(status);
  useEffect(() => {
    if (announced.current === status) return;
    announced.current = status;
    announce(runStatusWords[status]);
  }, [status]);
  return (
    <article className="mx-auto max-w-page space-y-8 px-4 pt-8 sm:px-6 print:p-0">
      <Head runId={runId} renderActions={renderActions} />
      <Situation runId={runId} status={status} />
    </article>
  );
}

function Situation({
  runId,
  status,
}: {
  runId: string;
  status: ReturnType<typeof statusOf>;
}): ReactNode {
  switch (status) {
    case 'pending':
      return <Pending runId={runId} />;
    case 'processing':
      return <Running runId={runId} />;
    case 'failed':
      return (
        <>
          <Failed runId={runId} />
          <Arrived runId={runId} />
        </>
      );
    case 'cancelled':
      return (
        <>
          <Cancelled runId={runId} />
          <Arrived runId={runId} />
        </>
      );
    case 'completed':
      return (
        <Suspense fallback={<Body />}>
          <Completed runId={runId} />
        </Suspense>
      );
  }
}

/** An end says first why, and what it cost: nobody waits for the answers to read that. */
function Arrived({ runId }: { runId: string }): ReactNode {
  return (
    <Suspense fallback={<Skeleton className="h-64" />}>
      <ArrivedAnswers runId={runId} />
    </Suspense>
  );
}

function Head({ runId, renderActions }: { runId: string; renderActions: Actions }): ReactNode {
  const view = useRunPart(runId, (state) => state.view, sameHead);
  const status = statusOf(view);
  return (
    <header className="space-y-3">
      <p className="hidden text-sm print:block">
        {productName} · {day(view.createdAt)} · {runId}
      </p>
      <Question view={view} />
      <p className="flex flex-wrap items-center gap-x-2 text-ink-2">
        <Status tone={runStatusTones[status]}>{runStatusWords[status]}</Status>
        <span aria-hidden="true">·</span>
        <span>{strategyName(view.strategy)} strategy</span>
        <span aria-hidden="true" className="print:hidden">
          ·
        </span>
        <span className="print:hidden">
          <RelativeTime at={view.createdAt} />
        </span>
      </p>
      <RefinementNote view={view} />
      <SimulatedMark seats={view.seats} standIn={view.standIn} />
      <RunPanelNote view={view} />
      <div className="print:hidden">
        {renderActions({
          id: runId,
          title: view.title ?? erased,
          status,
          isRefinement: view.refines !== null,
          refinements: view.refinements.length,
        })}
      </div>
    </header>
  );
}

function sameHead(one: RunView, other: RunView): boolean {
  return (
    one.title === other.title &&
    one.challenge === other.challenge &&
    one.refinements === other.refinements &&
    statusOf(one) === statusOf(other)
  );
}

function Outline(): ReactNode {
  return (
    <div className="mx-auto max-w-page space-y-6 px-4 pt-8 sm:px-6">
      <Skeleton className="h-10 w-2/3" />
      <Skeleton className="h-6 w-1/2" />
      <Body />
    </div>
  );
}

function Body(): ReactNode {
  return (
    <div className="grid gap-6 lg:grid-cols-[minmax(0,1fr)_20rem]">
      <Skeleton className="h-96" />
      <Skeleton className="h-64" />
    </div>
  );
}
