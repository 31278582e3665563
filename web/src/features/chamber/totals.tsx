import { type ReactNode, useEffect, useState } from 'react';
import type { OptimizationSummary } from '#services/optimizations/contract/summary.ts';
import { seatStatus, summarize, usualSeconds } from '#services/optimizations/reading/describe.ts';
import { answerCall } from '#services/optimizations/reading/view.ts';
import { sameFields, serverNow, useRunPart } from '#web/live/live.ts';
import type { RunState } from '#web/live/run-state.ts';
import { creditsInWords, duration, modelCost, unknownFigure } from '#services/platform/numbers.ts';
import { percent } from '#web/ui/text/figures.ts';
import { Tile } from '#web/ui/tile.tsx';
import { timeLeft } from '#web/run/words.ts';

/** The run in figures, all from the server. */
export function Totals({ runId }: { runId: string }): ReactNode {
  const totals = useRunPart(runId, totalsOf, sameFields);
  const now = useServerSecond(totals.startedAt !== null && totals.endedAt === null);
  const elapsed = elapsedMs(totals.startedAt, totals.endedAt, now);
  const left = totals.hasEnded
    ? 'None'
    : elapsed === null
      ? null
      : timeLeft(totals.usualSeconds - elapsed / 1000);
  return (
    // Columns of one width: the figures grow, and nothing beside them moves.
    <dl className="grid grid-cols-2 gap-4 max-lg:*:last:col-span-2 lg:grid-cols-5">
      <Tile
        label="Overall progress"
        value={totals.stopped ? 'Stopped' : percent(totals.progress)}
      />
      <Tile
        label="Models completed"
        value={`${totals.completed} of ${totals.seats}`}
        detail={totals.answered}
      />
      <Tile label="Elapsed" value={elapsed === null ? unknownFigure : duration(elapsed)} />
      <Tile
        label="Time left"
        value={left ?? unknownFigure}
        detail={totals.hasEnded ? undefined : usualWords(totals.usualSeconds, elapsed)}
      />
      <Tile
        label={totals.isSimulated ? 'Total cost if real' : 'Total cost'}
        value={`${totals.costIsMinimum && totals.cost !== null ? 'at least ' : ''}${modelCost(totals.cost)}`}
        detail={totals.credits}
      />
    </dl>
  );
}

/** The rest of a sentence that starts with the price: held, charged, or neither yet. */
function creditWords({ price, charged, refunded, settlement }: Credits): string {
  if (price === 0) return 'included, nothing charged';
  if (charged !== null) {
    const back = refunded ?? 0;
    return back > 0
      ? `${charged} of ${creditsInWords(price)} charged, ${back} returned`
      : `${creditsInWords(charged)} charged`;
  }
  return settlement === 'none' ? creditsInWords(price) : `${creditsInWords(price)} reserved`;
}

type Credits = OptimizationSummary['credits'];

function totalsOf({ view }: RunState) {
  const run = summarize(view);
  return {
    progress: run.progress,
    /** Ended but not done: 100% would read like a result. */
    stopped: run.status === 'cancelled' || run.status === 'failed',
    completed: view.seats.filter(({ seat }) => seatStatus(view, seat) === 'completed').length,
    /** A refinement asks for votes only. */
    answered:
      view.refines === null
        ? `${view.seats.filter(({ seat }) => answerCall(view, seat)?.outcome).length} answered`
        : undefined,
    seats: view.seats.length,
    startedAt: view.startedAt,
    endedAt: view.endedAt,
    cost: run.cost,
    isSimulated: run.simulated_seats === view.seats.length,
    costIsMinimum: run.cost_is_minimum,
    credits: creditWords(run.credits),
    usualSeconds: usualSeconds(view),
    hasEnded: view.stage === 'settling' || view.stage === 'closed',
  };
}

/** Beside the time left, which is unknown once a run takes longer. */
function usualWords(seconds: number, elapsed: number | null): string {
  if (seconds === 0) return 'not yet measured';
  return (elapsed ?? 0) > seconds * 1000
    ? 'longer than expected'
    : `${duration(seconds * 1000)} expected`;
}

function elapsedMs(startedAt: string | null, endedAt: string | null, now: number): number | null {
  if (startedAt === null) return null;
  return Math.max(0, (endedAt === null ? now : Date.parse(endedAt)) - Date.parse(startedAt));
}

/** The server's clock, updated once a second during the run. */
function useServerSecond(running: boolean): number {
  const [now, setNow] = useState(serverNow);
  useEffect(() => {
    if (!running) return undefined;
    const timer = setInterval(() => setNow(serverNow()), 1_000);
    return () => clearInterval(timer);
  }, [running]);
  return now;
}
