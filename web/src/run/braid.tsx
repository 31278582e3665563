import type { ReactNode } from 'react';
import { classNames } from '#web/ui/class-names.ts';
import { DataTable, TableToggle } from '#web/ui/table-toggle.tsx';
import { braidSentence, type BraidSeat, type BraidView, standing } from './braid-view.ts';
import { BraidDrawing, type SeatFocus } from './drawing/braid-drawing.tsx';
import { roleColours, roleWords } from './drawing/roles.ts';

/** The whole run in one picture, and the same facts as a table. */
export function Braid({ view, focus }: { view: BraidView; focus?: SeatFocus }): ReactNode {
  return (
    <section
      aria-label="How the models line up"
      className="rounded-card border border-line bg-surface p-3 sm:p-6"
    >
      <TableToggle
        drawing={<BraidDrawing view={view} sentence={braidSentence(view)} focus={focus} />}
        table={<Table view={view} />}
      />
      <Ends seats={view.seats} />
    </section>
  );
}

/** The ended seats with their reasons, where the drawing has no room. */
function Ends({ seats }: { seats: readonly BraidSeat[] }): ReactNode {
  const ended = seats.filter((seat) => seat.ended !== null);
  if (ended.length === 0) return null;
  return (
    <ul className="mt-2 space-y-1 text-sm sm:hidden">
      {ended.map((seat) => (
        <li key={seat.seat}>
          <span className={classNames('font-semibold', roleColours[seat.role])}>{seat.seat}</span>{' '}
          <span className="text-ink-2">
            {seat.name}: {seat.ended}
          </span>
        </li>
      ))}
    </ul>
  );
}

function Table({ view }: { view: BraidView }): ReactNode {
  return (
    <DataTable
      caption="The models of this run"
      rows={view.seats}
      rowKey={(seat) => seat.seat}
      columns={[
        { id: 'seat', title: 'Seat', cell: (seat) => seat.seat },
        { id: 'name', title: 'Model', cell: (seat) => seat.name },
        { id: 'role', title: 'Role', cell: (seat) => roleWords[seat.role] },
        { id: 'status', title: 'Status', cell: (seat) => seat.status },
        { id: 'step', title: 'Step', cell: (seat) => seat.step },
        { id: 'percent', title: 'Progress', numeric: true, cell: (seat) => `${seat.percent}%` },
        { id: 'standing', title: 'Position', cell: (seat) => standing(seat, view) },
      ]}
    />
  );
}
