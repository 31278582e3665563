import { type ReactNode, useEffect, useState } from 'react';
import type { OptimizationSummary } from '#services/optimizations/contract/summary.ts';
import { summarize, usualSeconds } from '#services/optimizations/reading/describe.ts';
import { answerCall } from '#services/optimizations/reading/view.ts';
import { sameFields, serverNow, useRunPart } from '#web/live/live.ts';
import type { RunState } from '#web/live/run-state.ts';
import { creditsInWords, modelCost } from '#services/platform/numbers.ts';
import { percent } from '#web/ui/text/figures.ts';
import { Tile, TileRow } from '#web/ui/tile.tsx';
import { duration, timeLeft } from '#web/run/words.ts';

/** The run in figures, all from the server. */
export function Totals({ runId }: { runId: string }): ReactNode {
  const totals = useRunPart(runId, totalsOf, sameFields);
  const now = useServerSecond(totals.startedAt !== null && totals.endedAt === null);
  const elapsed = elapsedMs(totals.startedAt, totals.endedAt, now);
  const left =
    elapsed === null || totals.endedAt !== null || !totals.isUnderway
      ? null
      : timeLeft(totals.usualSeconds - elapsed / 1000);
  return (
    <TileRow>
      <Tile
        label="Overall progress"
        value={totals.stopped ? 'Stopped' : percent(totals.progress)}
      />
      <Tile label="Models completed" value={`${totals.completed} of ${totals.seats}`} />
      <Tile label="Elapsed" value={elapsed === null ? '--' : duration(elapsed)} />
      <Tile
        label={totals.isSimulated ? 'Total cost if real' : 'Total cost'}
        value={`${totals.costIsMinimum && totals.cost !== null ? 'at least ' : ''}${modelCost(totals.cost)}`}
        detail={totals.credits}
      />
      {left === null ? null : <Tile label="Time left" value={left} />}
    </TileRow>
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
    /** Ended but not done: 100 % would read like a result. */
    stopped: run.status === 'cancelled' || run.status === 'failed',
    completed: view.seats.filter(({ seat }) => answerCall(view, seat)?.outcome).length,
    seats: view.seats.length,
    startedAt: view.startedAt,
    endedAt: view.endedAt,
    cost: run.cost,
    isSimulated: run.simulated_seats === view.seats.length,
    costIsMinimum: run.cost_is_minimum,
    credits: creditWords(run.credits),
    usualSeconds: usualSeconds(view),
    isUnderway: run.status === 'processing',
  };
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
