import type { ReactNode } from 'react';
import type { Optimization } from '#services/optimizations/contract.ts';
import { costOf } from '#services/optimizations/reading/describe.ts';
import { type RunView } from '#services/optimizations/reading/view.ts';
import { moneyWords } from '#web/run/money.ts';
import { tokensOf } from '#web/run/marks.ts';
import { duration } from '#web/run/words.ts';
import { latency, modelCost } from '#web/ui/text/figures.ts';
import { DataTable } from '#web/ui/table-toggle.tsx';
import { Part } from '#web/features/result/section.tsx';

type Row = {
  id: string;
  name: string;
  calls: number;
  latencyMs: number | null;
  tokensIn: number | null;
  tokensOut: number | null;
  dollars: number | null;
};

/** Work and cost of each model, then of calls without a seat, then of the whole run. */
export function Costs({ run }: { run: Optimization }): ReactNode {
  const view = run.council;
  const seats = view.seats.map((seat) =>
    rowOf(view, seat.seat, `${seat.seat} ${seat.name}`, [
      `opinion.${seat.seat}`,
      `review.${seat.seat}`,
    ]),
  );
  const others = Object.keys(view.calls).filter((slot) => !/^(?:opinion|review)\./.test(slot));
  const rows = [
    ...seats,
    rowOf(view, 'claims', 'Collecting the claims', withKind(others, 'claims')),
    rowOf(view, 'draft', 'Writing the recommendation', withKind(others, 'draft')),
    rowOf(view, 'verify', 'Checking the recommendation', withKind(others, 'verify')),
    rowOf(view, 'all', 'The whole run', Object.keys(view.calls)),
  ].filter((row) => row.calls > 0);
  const elapsed =
    view.startedAt === null || view.endedAt === null
      ? null
      : Date.parse(view.endedAt) - Date.parse(view.startedAt);
  return (
    <Part title="Cost, time and tokens">
      <p className="text-ink-2">
        {moneyWords(run.credits)}
        {elapsed === null ? '' : ` The run took ${duration(elapsed)}.`}
        {run.cost_is_minimum
          ? " Some calls couldn't be priced, so the real cost is at least this much."
          : ''}
      </p>
      <DataTable
        caption="Cost, time and tokens by model"
        rows={rows}
        rowKey={(row) => row.id}
        columns={[
          { id: 'name', title: 'Model', cell: (row) => row.name },
          { id: 'calls', title: 'Calls', numeric: true, cell: (row) => row.calls },
          {
            id: 'latency',
            title: 'Time in calls',
            numeric: true,
            cell: (row) => (row.id === 'all' ? '' : latency(row.latencyMs)),
          },
          { id: 'in', title: 'Tokens in', numeric: true, cell: (row) => count(row.tokensIn) },
          { id: 'out', title: 'Tokens out', numeric: true, cell: (row) => count(row.tokensOut) },
          { id: 'cost', title: 'Cost', numeric: true, cell: (row) => modelCost(row.dollars) },
        ]}
      />
    </Part>
  );
}

const withKind = (slots: readonly string[], kind: string): string[] =>
  slots.filter((slot) => slot.startsWith(`${kind}.`));

const count = (tokens: number | null): string => (tokens === null ? '--' : tokens.toLocaleString());

/** A row's time covers all its calls, while a card of the chamber shows only the last one's. */
function rowOf(view: RunView, id: string, name: string, slots: readonly string[]): Row {
  const attempts = slots.flatMap((slot) => Object.values(view.calls[slot]?.attempts ?? {}));
  const known = attempts.flatMap(({ latencyMs }) => (latencyMs === null ? [] : [latencyMs]));
  const { input, output } = tokensOf(attempts);
  const { micros } = costOf(view, slots);
  return {
    id,
    name,
    calls: attempts.length,
    latencyMs: known.length === 0 ? null : known.reduce((sum, one) => sum + one, 0),
    tokensIn: input,
    tokensOut: output,
    dollars: micros === null ? null : micros / 1_000_000,
  };
}
