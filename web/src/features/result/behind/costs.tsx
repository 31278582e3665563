import type { ReactNode } from 'react';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import { costColumns, costRows, type CostRow } from '#services/optimizations/reading/costs.ts';
import { timeInWords } from '#services/platform/numbers.ts';
import { moneyWords } from '#services/optimizations/reading/words/money.ts';
import { DataTable } from '#web/ui/table-toggle.tsx';
import { Part } from '#web/features/result/section.tsx';

/** Work and cost of each model, then of calls without a seat, then of the whole run. */
export function Costs({ run }: { run: Optimization }): ReactNode {
  const view = run.council;
  const elapsed =
    view.startedAt === null || view.endedAt === null
      ? null
      : Date.parse(view.endedAt) - Date.parse(view.startedAt);
  return (
    <Part title="Cost, time and tokens">
      <p className="text-ink-2">
        {moneyWords(run.credits)}
        {elapsed === null ? '' : ` The run took ${timeInWords(elapsed)}.`}
        {run.cost_is_minimum
          ? " Some calls couldn't be priced, so the real cost is at least this much."
          : ''}
      </p>
      <DataTable
        caption="Cost, time and tokens by model"
        rows={costRows(view)}
        rowKey={(row) => row.id}
        columns={[
          { id: 'name', title: 'Model', cell: (row) => row.name },
          ...costColumns(view).map((title, index) => ({
            id: title,
            title,
            numeric: true,
            cell: (row: CostRow) => row.cells[index],
          })),
        ]}
      />
    </Part>
  );
}
