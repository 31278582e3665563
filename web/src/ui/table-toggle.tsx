import { type ReactNode, useId, useState } from 'react';
import { Button } from './form/button.tsx';

/** A drawing, and the same facts as a table behind a button. */
export function TableToggle({
  drawing,
  table,
}: {
  drawing: ReactNode;
  table: ReactNode;
}): ReactNode {
  const [asTable, setAsTable] = useState(false);
  const id = useId();
  return (
    <div className="space-y-3">
      <div id={id}>{asTable ? table : drawing}</div>
      <Button
        tone="quiet"
        className="-ms-4 print:hidden"
        aria-pressed={asTable}
        aria-controls={id}
        onClick={() => setAsTable(!asTable)}
      >
        Show as table
      </Button>
    </div>
  );
}

export type Column<Row> = {
  id: string;
  title: string;
  cell: (row: Row) => ReactNode;
  numeric?: boolean;
};

/** A table that scrolls inside its own frame, which the keyboard can reach. */
export function DataTable<Row>({
  caption,
  columns,
  rows,
  rowKey,
}: {
  caption: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  rowKey: (row: Row) => string;
}): ReactNode {
  return (
    <section
      aria-label={caption}
      // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a scrolling region must be reachable by keyboard
      tabIndex={0}
      className="overflow-x-auto rounded-card border border-line bg-surface"
    >
      <table className="w-full border-collapse text-start">
        <caption className="sr-only">{caption}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <th
                key={column.id}
                scope="col"
                className={`px-4 py-3 text-sm font-medium text-ink-3 ${column.numeric ? 'text-end' : 'text-start'}`}
              >
                {column.title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={rowKey(row)} className="border-t border-line">
              {columns.map((column) => (
                <td
                  key={column.id}
                  className={`px-4 py-3 align-top ${column.numeric ? 'text-end' : 'text-start'}`}
                >
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
