import type { ReactNode } from 'react';
import {
  comparisonsNote,
  comparisonsTitle,
  type OrderRow,
  orderRows,
  orderTitle,
} from '#services/optimizations/reading/words/order.ts';
import type { RunView } from '#services/optimizations/reading/view.ts';
import { DataTable } from '#web/ui/table-toggle.tsx';
import { Part } from '#web/features/result/section.tsx';

/** The places of the answers, small enough for the margin. */
export function Order({ view }: { view: RunView }): ReactNode {
  return (
    <table className="w-full border-collapse text-start">
      <caption className="pb-1 text-start font-medium text-ink">{orderTitle}</caption>
      <thead>
        <tr className="text-ink-3">
          <th scope="col" className="pe-2 text-end font-medium">
            Place
          </th>
          <th scope="col" className="pe-2 text-start font-medium">
            Model
          </th>
          <th scope="col" className="text-end font-medium">
            Win rate
          </th>
        </tr>
      </thead>
      <tbody>
        {orderRows(view).map(({ seat, place, name, winRate }) => (
          <tr key={seat} className="border-t border-line align-top">
            <td className="py-1 pe-2 text-end">{place}</td>
            <td className="py-1 pe-2 wrap-anywhere">{name}</td>
            <td className="py-1 text-end">{winRate}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

export const comparisonsAnchor = 'comparisons';

/** How often each answer was preferred to each other one. */
export function Comparisons({ view }: { view: RunView }): ReactNode {
  const rows = orderRows(view);
  if (rows.length === 0) return null;
  return (
    <div id={comparisonsAnchor}>
      <Part title={comparisonsTitle}>
        <p className="max-w-prose text-ink-2">{comparisonsNote}</p>
        <DataTable
          caption="Each answer against each other one"
          rows={rows}
          rowKey={(row) => row.seat}
          columns={[
            { id: 'name', title: 'Model', cell: (row) => row.name },
            ...rows.map(({ seat }, index) => ({
              id: seat,
              title: `over ${seat}`,
              numeric: true,
              cell: (row: OrderRow) => row.over[index],
            })),
          ]}
        />
      </Part>
    </div>
  );
}
