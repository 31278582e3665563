import { parseSlot } from '#services/optimizations/run/slots.ts';
import {
  latency,
  modelCost,
  roundedParts,
  timeInWords,
  unknownFigure,
  figure,
} from '#services/platform/numbers.ts';
import { costOf } from './describe.ts';
import type { AttemptView, RunView } from './view.ts';

/** What a run's calls took and cost, as its page and its file list them. */

/** Nothing is spent on a simulated call, so its cost is what real models would have taken. */
export function costColumns({ seats }: Pick<RunView, 'seats'>): string[] {
  const simulated = seats.filter((seat) => seat.simulated).length;
  const cost =
    simulated === 0
      ? 'Cost'
      : simulated === seats.length
        ? 'Cost if real'
        : 'Cost, simulated if real';
  return ['Calls', 'Time in calls', 'Tokens in', 'Tokens out', cost];
}

/** `cells` stand in the order of `costColumns`. */
export type CostRow = { id: string; name: string; cells: readonly string[] };

/** Each seat, then calls without a seat, then the whole run; costs add up as they are shown. */
export function costRows(view: RunView, locale?: string): CostRow[] {
  const groups = Map.groupBy(Object.keys(view.calls), (slot) => {
    const parts = parseSlot(slot);
    return 'seat' in parts ? parts.seat : parts.kind;
  });
  const rows = [
    ...view.seats.map(({ seat, name }) => ({ id: seat, name: `${seat} ${name}` })),
    { id: 'claims', name: 'Collecting the claims' },
    { id: 'draft', name: 'Writing the recommendation' },
    { id: 'verify', name: 'Checking the recommendation' },
  ]
    .map((row) => ({ ...row, ...workOf(view, groups.get(row.id) ?? []) }))
    .filter(({ calls }) => calls > 0);
  const all = { id: 'all', name: 'The whole run', ...workOf(view, Object.keys(view.calls)) };
  const shown = roundedParts(
    rows.map(({ micros }) => (micros ?? 0) / 1000),
    (all.micros ?? 0) / 1000,
  );
  const costs = rows.map(({ micros }, index) => costText(micros, shown[index] ?? 0, locale));
  const cost = costText(all.micros, Math.round((all.micros ?? 0) / 1000), locale);
  return [
    ...rows.map((row, index) => rowOf(row, latency(row.latencyMs), costs[index] ?? '', locale)),
    // Calls run side by side, so the sum of their times is no time that anybody waited.
    ...(all.calls === 0 ? [] : [rowOf(all, '', cost, locale)]),
  ];
}

/** "The run took 2 minutes."; empty before it has ended. */
export function tookWords({ startedAt, endedAt }: Pick<RunView, 'startedAt' | 'endedAt'>): string {
  if (startedAt === null || endedAt === null) return '';
  return `The run took ${timeInWords(Date.parse(endedAt) - Date.parse(startedAt))}.`;
}

type Work = {
  calls: number;
  latencyMs: number | null;
  input: number | null;
  output: number | null;
  micros: number | null;
};

function workOf(view: RunView, slots: readonly string[]): Work {
  const attempts = slots.flatMap((slot) => Object.values(view.calls[slot]?.attempts ?? {}));
  return {
    calls: attempts.length,
    latencyMs: sum(attempts.map((attempt) => attempt.latencyMs)),
    ...tokensOf(attempts),
    micros: costOf(view, slots).micros,
  };
}

function rowOf(
  { id, name, calls, input, output }: { id: string; name: string } & Work,
  time: string,
  cost: string,
  locale: string | undefined,
): CostRow {
  const count = (tokens: number | null): string =>
    tokens === null ? unknownFigure : figure(tokens, locale);
  return { id, name, cells: [String(calls), time, count(input), count(output), cost] };
}

/** @param thousandths of a dollar, as they are shown */
function costText(micros: number | null, thousandths: number, locale: string | undefined): string {
  if (micros === null || micros === 0) return modelCost(micros, locale);
  return modelCost(thousandths === 0 ? micros / 1_000_000 : thousandths / 1000, locale);
}

/** Tokens of some attempts; null where no provider reported any. */
export function tokensOf(attempts: readonly AttemptView[]): {
  input: number | null;
  output: number | null;
} {
  return {
    input: sum(
      attempts.flatMap(({ usage }) => [
        usage?.inputUncached,
        usage?.inputCached,
        usage?.cacheWrite,
      ]),
    ),
    output: sum(attempts.flatMap(({ usage }) => [usage?.outputVisible, usage?.outputThinking])),
  };
}

function sum(figures: readonly (number | null | undefined)[]): number | null {
  const known = figures.filter((one) => typeof one === 'number');
  return known.length === 0 ? null : known.reduce((total, one) => total + one, 0);
}
