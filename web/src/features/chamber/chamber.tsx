import { Wifi, WifiOff } from 'lucide-react';
import { type ReactNode, useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { strategyName } from '#services/optimizations/reading/words/names.ts';
import type { BiasAnalysis } from '#services/optimizations/contract/result.ts';
import {
  describeRun,
  overallProgress,
  statusOf,
} from '#services/optimizations/reading/describe.ts';
import { opinionOf } from '#services/optimizations/reading/texts.ts';
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
import { ResultReady, Situation } from './situation.tsx';
import { Insights } from './insights.tsx';
import { Question } from '#web/run/question.tsx';
import type { Reading } from './reading/choice.ts';
import { isWriting, ReadingPane } from './reading/pane.tsx';
import { Recommendations } from './recommendations.tsx';
import { SeatCard } from './seats/seat-card.tsx';
import { SeatDetail } from './seats/seat-detail.tsx';
import { priceWords } from '#web/run/words.ts';
import { RefinementNote } from '#web/run/refinement/note.tsx';
import { RunPanelNote } from '#web/run/panel-note.tsx';
import { SimulatedMark } from '#web/run/simulated-mark.tsx';
import { Totals } from './totals.tsx';
import { useAnnouncements } from './use-announcements.ts';

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
          safe="A started run keeps going. This page will try again on its own."
          onRetry={phase.action === 'none' ? undefined : () => void reloadRun(runId)}
        />
      </div>
    );
  }
  return (
    // As tall as the window from the start, so that the footer does not move.
    <div className="min-h-dvh">
      <Loading loading={phase.status === 'loading'} label="Loading the run" skeleton={<Outline />}>
        {() => <Run key={runId} runId={runId} userId={userId} onCancelled={onCancelled} />}
      </Loading>
    </div>
  );
}

function Run({ runId, userId, onCancelled }: Omit<ChamberProps, 'missing'>): ReactNode {
  useWindowTitle(useRunPart(runId, ({ view }) => titleOf(view)));
  useAnnouncements(runId);
  return (
    <div className="mx-auto max-w-page space-y-6 px-4 pt-8 sm:px-6">
      <Head runId={runId} onCancelled={onCancelled} />
      <Situation runId={runId} />
      <Totals runId={runId} />
      <Council runId={runId} userId={userId} />
    </div>
  );
}

/** "62% · Evolution Chamber", then "Done · …". */
function titleOf(view: RunView): string {
  const words = {
    pending: 'Getting ready',
    processing: `${overallProgress(view)}%`,
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
        {/* What follows "Cancel" has the same room, so that nothing moves. */}
        <div className="flex min-h-12 shrink-0 items-center sm:w-72 sm:justify-end">
          <Cancel runId={runId} onCancelled={onCancelled} />
          <ResultReady runId={runId} />
        </div>
      </div>
      <p className="flex flex-wrap items-center gap-x-2 text-ink-2">
        <span>{strategyName(view.strategy)} strategy</span>
        <span aria-hidden="true">·</span>
        <span>{priceWords(view.price)}</span>
        <span aria-hidden="true" className="max-sm:hidden">
          ·
        </span>
        {/* Last, and on a phone in a line of its own: its words change, and nothing moves. */}
        <ConnectionLine />
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
  const [comparing, setComparing] = useState(false);
  const braid = useRunPart(runId, (state) => braidOf(state.view), sameBraid);
  const seats = useRunPart(runId, (state) => state.view.seats);
  const isRefinement = useRunPart(runId, (state) => state.view.refines !== null);
  const hasEnded = useRunPart(runId, (state) => state.view.conclusion !== null);
  const ended = hasEnded
    ? `The run ended before the ${isRefinement ? 'votes' : 'reviews'} were counted.`
    : null;
  const first = useRunPart(runId, ({ view }) => (isWriting(view) ? null : firstAnswer(view)));
  const { bias, winner } = useFindings(runId);
  const focus = useMemo(() => ({ seat: lit, set: setLit }), [lit]);
  const [picked, read] = useState<Reading>({ seat: null, since: 0, isPinned: false });
  const reading = picked.seat === null && first !== null ? { ...picked, seat: first } : picked;
  const pick = useCallback((seat: string) => {
    read({ seat, since: performance.now(), isPinned: true });
  }, []);
  const [areFindingsFirst, onBusy] = useFindingsFirst(bias !== null);
  const pane = (
    <ReadingPane
      key="words"
      runId={runId}
      reading={reading}
      onRead={read}
      onOpen={setOpen}
      onBusy={onBusy}
      isBeside={!areFindingsFirst}
    />
  );
  const findings = (
    <BiasPanel
      key="findings"
      bias={bias}
      winner={winner}
      names={seats}
      userId={userId}
      isRefinement={isRefinement}
      ended={ended}
    />
  );
  return (
    <>
      {/* The words stand beside the models while they write, afterwards the findings do. Prose
          grows downward only, so that nothing above it moves. */}
      <div className="grid grid-cols-1 gap-6 xl:grid-cols-[minmax(0,1fr)_24rem] xl:grid-rows-[auto_auto_1fr]">
        <section aria-labelledby="models" className="min-w-0 space-y-3">
          <div className="flex flex-wrap items-center justify-between gap-x-4 gap-y-2">
            <h2 id="models" className="text-xl">
              Models
            </h2>
            <Button onClick={() => setComparing(true)}>Compare</Button>
          </div>
          <ul className="-mx-4 flex snap-x scroll-px-4 gap-3 overflow-x-auto px-4 py-1 sm:mx-0 sm:grid sm:grid-cols-3 sm:overflow-visible sm:px-0 lg:grid-cols-4">
            {seats.map((seat) => (
              <SeatCard
                key={seat.seat}
                runId={runId}
                seat={seat}
                faded={lit !== null && lit !== seat.seat}
                isShown={reading.seat === seat.seat}
                onFocus={setLit}
                onPick={pick}
              />
            ))}
          </ul>
          <p className="text-sm text-ink-3">
            Cost and latency add up a model&apos;s own calls. Confidence is the share of its claims
            that the others support. It isn&apos;t a probability.
          </p>
        </section>
        <div className="min-w-0 xl:col-start-2 xl:row-span-3 xl:row-start-1">
          {areFindingsFirst ? findings : pane}
        </div>
        <div className="min-w-0">
          <Braid view={braid} focus={focus} />
        </div>
        <div className="grid min-w-0 grid-cols-1 items-start gap-6 lg:grid-cols-2 xl:gap-4">
          <Insights bias={bias} names={seats} isRefinement={isRefinement} ended={ended} />
          <Recommendations runId={runId} />
          <div className="min-w-0 lg:col-span-2">{areFindingsFirst ? pane : findings}</div>
        </div>
      </div>
      <SeatDetail runId={runId} seat={open} onClose={() => setOpen(null)} />
      <Compare runId={runId} seats={seats} open={comparing} onClose={() => setComparing(false)} />
    </>
  );
}

/** The seat whose answer is best by the reviews, else the first that answered. */
function firstAnswer(view: RunView): string | null {
  const order = view.scores?.order ?? view.seats.map(({ seat }) => seat);
  return order.find((seat) => opinionOf(view, seat)) ?? null;
}

/** How often a change of places that waits for the reader is tried again, in milliseconds. */
const retryMs = 1_000;

/**
 * Whether the findings have the place beside the models. They take it once, when they are there,
 * and not while the reader selects or scrolls the words or has the focus on either.
 */
function useFindingsFirst(areThere: boolean): [boolean, (isBusy: boolean) => void] {
  const isReaderBusy = useRef(false);
  const [are, setAre] = useState(areThere);
  useEffect(() => {
    if (are || !areThere) return undefined;
    const change = (): void => {
      const focused = document.activeElement;
      if (!isReaderBusy.current && !focused?.closest('[data-part="words"], [data-part="findings"]'))
        setAre(true);
    };
    change();
    const timer = setInterval(change, retryMs);
    return () => clearInterval(timer);
  }, [are, areThere]);
  const onBusy = useCallback((isBusy: boolean) => {
    isReaderBusy.current = isBusy;
  }, []);
  return [are, onBusy];
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
      <div className="grid gap-6 xl:grid-cols-[minmax(0,1fr)_24rem]">
        <Skeleton className="h-96" />
        <Skeleton className="h-96" />
      </div>
      <Skeleton className="h-72 w-full" />
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
    <span className="inline-flex items-center gap-2 max-sm:w-full">
      <Icon size={16} aria-hidden="true" className="shrink-0" />
      {connectionWords(connection, sinceUpdate())}
    </span>
  );
}
