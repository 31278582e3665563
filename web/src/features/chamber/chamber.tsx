import { Wifi, WifiOff } from 'lucide-react';
import { type ReactNode, useCallback, useEffect, useMemo, useState } from 'react';
import type { BiasAnalysis } from '#services/optimizations/contract/result.ts';
import {
  describeRun,
  overallProgress,
  statusOf,
} from '#services/optimizations/reading/describe.ts';
import { winnerWords } from '#services/optimizations/reading/words/result.ts';
import { type RunView } from '#services/optimizations/reading/view.ts';
import { connectionWords } from '#web/live/connection.ts';
import { reloadRun, sinceUpdate, useConnection, useRun, useRunPart } from '#web/live/live.ts';
import { Button } from '#web/ui/form/button.tsx';
import { ErrorState } from '#web/ui/feedback/error-state.tsx';
import { Loading, Skeleton } from '#web/ui/feedback/skeleton.tsx';
import { useWindowTitle } from '#web/ui/use-window-title.ts';
import { BiasPanel } from './bias-panel.tsx';
import { Braid } from '#web/run/braid.tsx';
import { braidOf, type BraidView } from '#web/run/braid-view.ts';
import { Cancel } from './cancel.tsx';
import { Compare } from './seats/compare.tsx';
import { Ending, ResultReady } from './ending.tsx';
import { Insights } from './insights.tsx';
import { Question } from '#web/run/question.tsx';
import { Recommendations } from './recommendations.tsx';
import { SeatCard } from './seats/seat-card.tsx';
import { SeatDetail } from './seats/seat-detail.tsx';
import { priceWords } from '#web/run/words.ts';
import { RefinementNote } from '#web/run/refinement/note.tsx';
import { RunPanelNote } from '#web/run/panel-note.tsx';
import { SimulatedMark } from '#web/run/simulated-mark.tsx';
import { Totals } from './totals.tsx';
import { useAnnouncements } from './use-announcements.ts';
import { strategyName } from '#web/run/words.ts';

export type ChamberProps = {
  runId: string;
  userId: string;
  /** Shown when there is no such run for this user. */
  missing: ReactNode;
  onCancelled: (returned: number) => void;
};

export function Chamber({ runId, userId, missing, onCancelled }: ChamberProps): ReactNode {
  const phase = useRun(runId);
  if (phase.status === 'missing') return missing;
  if (phase.status === 'failed') {
    return (
      <div className="mx-auto max-w-page space-y-6 px-4 pt-8 sm:px-6">
        <h1 className="text-4xl">Evolution Chamber</h1>
        <ErrorState
          title="Failed to load optimization data"
          detail={phase.message}
          safe="A run that was started continues. This page tries again automatically."
          onRetry={() => void reloadRun(runId)}
        />
      </div>
    );
  }
  return (
    <Loading loading={phase.status === 'loading'} label="Loading the run" skeleton={<Outline />}>
      {() => <Run key={runId} runId={runId} userId={userId} onCancelled={onCancelled} />}
    </Loading>
  );
}

function Run({ runId, userId, onCancelled }: Omit<ChamberProps, 'missing'>): ReactNode {
  useWindowTitle(useRunPart(runId, ({ view }) => titleOf(view)));
  useAnnouncements(runId);
  return (
    <div className="mx-auto max-w-page space-y-6 px-4 pt-8 sm:px-6">
      <Head runId={runId} onCancelled={onCancelled} />
      <Ending runId={runId} />
      <Totals runId={runId} />
      <Council runId={runId} userId={userId} />
    </div>
  );
}

/** "62 % · Evolution Chamber", then "Done · …". */
function titleOf(view: RunView): string {
  const words = {
    pending: 'Getting ready',
    processing: `${overallProgress(view)} %`,
    completed: 'Done',
    failed: 'Failed',
    cancelled: 'Canceled',
  };
  return `${words[statusOf(view)]} · Evolution Chamber`;
}

function Head({ runId, onCancelled }: Pick<ChamberProps, 'runId' | 'onCancelled'>): ReactNode {
  const view = useRunPart(runId, (state) => state.view, sameHead);
  return (
    <header className="space-y-3">
      <div className="flex flex-col justify-between gap-3 sm:flex-row sm:items-start">
        <Question view={view} />
        <div className="flex min-h-12 shrink-0 items-center">
          <Cancel runId={runId} onCancelled={onCancelled} />
          <ResultReady runId={runId} />
        </div>
      </div>
      <p className="flex flex-wrap items-center gap-x-2 text-ink-2">
        <ConnectionLine />
        <span aria-hidden="true">·</span>
        <span>{strategyName(view.strategy)} strategy</span>
        <span aria-hidden="true">·</span>
        <span>{priceWords(view.price)}</span>
      </p>
      <RefinementNote view={view} showsGiven />
      <SimulatedMark seats={view.seats} standIn={view.standIn} />
      <RunPanelNote view={view} />
    </header>
  );
}

/** The head changes only when the question is renamed or erased. */
function sameHead(one: RunView, other: RunView): boolean {
  return (
    one.title === other.title && one.challenge === other.challenge && one.seats === other.seats
  );
}

function Council({ runId, userId }: Pick<ChamberProps, 'runId' | 'userId'>): ReactNode {
  const [lit, setLit] = useState<string | null>(null);
  const [open, setOpen] = useState<string | null>(null);
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const [comparing, setComparing] = useState(false);
  const braid = useRunPart(runId, (state) => braidOf(state.view), sameBraid);
  const seats = useRunPart(runId, (state) => state.view.seats);
  const isRefinement = useRunPart(runId, (state) => state.view.refines !== null);
  const { bias, winner } = useFindings(runId);
  const focus = useMemo(() => ({ seat: lit, set: setLit }), [lit]);
  const choose = useCallback((seat: string, isChosen: boolean) => {
    // The third one stays until it is unchecked: more than three do not fit side by side.
    setChosen((now) =>
      isChosen ? [...now, seat].slice(0, 3) : now.filter((other) => other !== seat),
    );
  }, []);
  return (
    <>
      <Braid view={braid} focus={focus} />
      {/* The findings are longer than their cards, so the bias column may grow past the first
          row. Prose stands in the wide column, where nothing above it moves. */}
      <div className="grid grid-cols-1 items-start gap-6 lg:grid-cols-[minmax(0,1fr)_20rem] lg:grid-rows-[auto_1fr]">
        <section aria-labelledby="models" className="min-w-0 space-y-3">
          <div className="flex flex-wrap items-center justify-between gap-x-4 gap-y-2">
            <div>
              <h2 id="models" className="text-xl">
                Models
              </h2>
              <p className="text-sm text-ink-2">
                Confidence is the share of a model&apos;s claims that the others support. It
                isn&apos;t a probability.
              </p>
            </div>
            <Button
              tone="secondary"
              disabled={chosen.length < 2}
              onClick={() => setComparing(true)}
            >
              Compare {chosen.length < 2 ? 'two or three' : chosen.length}
            </Button>
          </div>
          <ul className="grid grid-cols-1 gap-4 sm:grid-cols-2 xl:grid-cols-3">
            {seats.map((seat) => (
              <SeatCard
                key={seat.seat}
                runId={runId}
                seat={seat}
                faded={lit !== null && lit !== seat.seat}
                compared={chosen.includes(seat.seat)}
                onFocus={setLit}
                onOpen={setOpen}
                onCompare={choose}
              />
            ))}
          </ul>
        </section>
        <div className="min-w-0 lg:col-start-2 lg:row-span-2 lg:row-start-1">
          <BiasPanel
            bias={bias}
            winner={winner}
            names={seats}
            userId={userId}
            isRefinement={isRefinement}
          />
        </div>
        <div className="grid min-w-0 grid-cols-1 items-start gap-6 lg:col-start-1 xl:grid-cols-2 xl:gap-4">
          <Insights bias={bias} names={seats} isRefinement={isRefinement} />
          <Recommendations runId={runId} />
        </div>
      </div>
      <SeatDetail runId={runId} seat={open} onClose={() => setOpen(null)} />
      <Compare runId={runId} seats={comparing ? chosen : []} onClose={() => setComparing(false)} />
    </>
  );
}

/** Plain figures and words: equal when they read the same. */
function sameBraid(one: BraidView, other: BraidView): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** Computed again only when their events have changed. */
function useFindings(runId: string): { bias: BiasAnalysis | null; winner: string | null } {
  const view = useRunPart(
    runId,
    (state) => state.view,
    (one, other) =>
      one.scores === other.scores && one.ledger === other.ledger && one.rounds === other.rounds,
  );
  return useMemo(
    () => ({ bias: describeRun(view, 0).evolution.bias, winner: winnerWords(view) }),
    [view],
  );
}

function Outline(): ReactNode {
  return (
    <div className="mx-auto max-w-page space-y-6 px-4 pt-8 sm:px-6">
      <Skeleton className="h-10 w-2/3" />
      <Skeleton className="h-6 w-1/2" />
      <Skeleton className="h-14 w-full" />
      <Skeleton className="h-72 w-full" />
      <div className="grid gap-4 sm:grid-cols-2 xl:grid-cols-3">
        <Skeleton className="h-72" />
        <Skeleton className="h-72" />
        <Skeleton className="h-72" />
      </div>
    </div>
  );
}

/** Whether the page is up to date, in words; never a modal, and not announced every second. */
function ConnectionLine(): ReactNode {
  const connection = useConnection();
  const [, countOn] = useState(0);
  const isCounting = connection.status === 'reconnecting';
  useEffect(() => {
    if (!isCounting) return undefined;
    const timer = setInterval(() => countOn((seconds) => seconds + 1), 1_000);
    return () => clearInterval(timer);
  }, [isCounting]);
  const Icon = connection.status === 'connected' ? Wifi : WifiOff;
  return (
    <span className="inline-flex items-center gap-2">
      <Icon size={16} aria-hidden="true" className="shrink-0" />
      {connectionWords(connection, sinceUpdate())}
    </span>
  );
}
