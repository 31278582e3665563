import type { ReactNode } from 'react';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import {
  costColumns,
  costRows,
  type CostRow,
  tookWords,
} from '#services/optimizations/reading/costs.ts';
import type { RunView } from '#services/optimizations/reading/view.ts';
import { moneyWords } from '#services/optimizations/reading/words/money.ts';
import { DataTable } from '#web/ui/table-toggle.tsx';
import { Part } from '#web/features/result/section.tsx';

/** Work and cost of each model, then of calls without a seat, then of the whole run. */
export function Costs({ run }: { run: Optimization }): ReactNode {
  const view = run.council;
  return (
    <Part title="Cost, time and tokens">
      <p className="text-ink-2">
        {moneyWords(run.credits)}
        {` ${tookWords(view)}`}
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

/** For a reader of a share link, who gets no costs. */
export function Time({ view }: { view: RunView }): ReactNode {
  return (
    <Part title="Time">
      <p className="text-ink-2">{tookWords(view)}</p>
    </Part>
  );
}
