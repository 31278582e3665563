import { memo, type ReactNode, useMemo } from 'react';
import { classNames } from '#web/ui/class-names.ts';
import { DataTable, TableToggle } from '#web/ui/table-toggle.tsx';
import {
  braidHeight,
  braidPadding,
  braidStrands,
  braidWidth,
  type Strand,
  strandAt,
  strandDistance,
  strandPaths,
} from './braid-shape.ts';
import { braidSentence, type BraidSeat, type BraidView, standing } from './braid-view.ts';
import { phases, type Role, roleColours, roleWords } from './words.ts';

/** One highlighted seat while the others fade; null for none. */
export type SeatFocus = {
  readonly seat: string | null;
  readonly set: (seat: string | null) => void;
};

/** The whole run in one picture, and the same facts as a table. */
export function Braid({ view, focus }: { view: BraidView; focus?: SeatFocus }): ReactNode {
  return (
    <section aria-label="Braid" className="rounded-card border border-line bg-surface p-3 sm:p-6">
      <TableToggle drawing={<Drawing view={view} focus={focus} />} table={<Table view={view} />} />
      <Ends seats={view.seats} />
    </section>
  );
}

function Drawing({ view, focus }: { view: BraidView; focus: SeatFocus | undefined }): ReactNode {
  const { seats } = view;
  const rows = useMemo(() => {
    const strands = braidStrands(view.seats, view);
    return view.seats.flatMap((seat, index) => {
      const strand = strands[index];
      return strand ? [{ seat, strand, paths: strandPaths(strand) }] : [];
    });
  }, [view]);
  const height = braidHeight(seats.length);
  return (
    <div className="grid grid-cols-[1.75rem_minmax(0,1fr)] sm:grid-cols-[11rem_minmax(0,1fr)]">
      <div />
      <ol className="grid grid-cols-4 text-sm text-ink-3" aria-hidden="true">
        {phases.map((phase) => (
          <li key={phase} className="min-w-0">
            <PhaseName phase={phase} />
          </li>
        ))}
      </ol>
      <ul style={{ paddingBlock: braidPadding }} aria-hidden="true">
        {seats.map((seat) => (
          <Label key={seat.seat} seat={seat} focus={focus} />
        ))}
      </ul>
      <svg
        width="100%"
        height={height}
        role="img"
        aria-label={braidSentence(view)}
        className="min-w-0 overflow-visible"
      >
        <svg
          width="100%"
          height={height}
          viewBox={`0 0 ${braidWidth} ${height}`}
          preserveAspectRatio="none"
          fill="none"
        >
          {phases.map((phase, column) =>
            column === 0 ? null : (
              <line
                key={phase}
                x1={(column * braidWidth) / 4}
                x2={(column * braidWidth) / 4}
                y1="0"
                y2={height}
                className="stroke-line"
                strokeDasharray="1 5"
                vectorEffect="non-scaling-stroke"
              />
            ),
          )}
          {rows.map(({ seat, paths }) => (
            <Line
              key={seat.seat}
              drawn={paths.drawn}
              rest={seat.ended === null ? paths.rest : ''}
              role={seat.role}
              faded={isFaded(focus, seat.seat)}
            />
          ))}
        </svg>
        {rows.map(({ seat, strand }) =>
          seat.ended === null ? null : (
            <Cross
              key={seat.seat}
              strand={strand}
              reason={seat.ended}
              faded={isFaded(focus, seat.seat)}
            />
          ),
        )}
        {view.twoCamps ? (
          <text x="100%" y="12" textAnchor="end" fontSize="14" className="fill-ink font-medium">
            {view.chosen === null ? 'no winner, two camps' : 'two camps'}
          </text>
        ) : null}
        {view.isGettingReady ? (
          <text x="0" y={height - 2} fontSize="14" className="fill-ink-2">
            Getting ready
          </text>
        ) : null}
      </svg>
    </div>
  );
}

function isFaded(focus: SeatFocus | undefined, seat: string): boolean {
  const lit = focus?.seat ?? null;
  return lit !== null && lit !== seat;
}

/** Narrow screens put each word on its own line and break long ones at sensible places. */
function PhaseName({ phase }: { phase: string }): ReactNode {
  return phase.split(/(?<=[ -])/).map((word) => (
    <span key={word} className="block sm:inline">
      {word.replace(/(?<=Gener|Evalu|Detec)(?=ation|tion)/, '\u00ad')}
    </span>
  ));
}

/** For the pointer only: the keyboard reaches the same seat at its card. */
function Label({ seat, focus }: { seat: BraidSeat; focus: SeatFocus | undefined }): ReactNode {
  return (
    <li
      style={{ height: strandDistance }}
      onPointerEnter={() => focus?.set(seat.seat)}
      onPointerLeave={() => focus?.set(null)}
      className={classNames(
        'flex items-center gap-2 overflow-hidden text-sm whitespace-nowrap',
        isFaded(focus, seat.seat) && 'opacity-40',
      )}
    >
      <span className={classNames('w-6 shrink-0 font-semibold', roleColours[seat.role])}>
        {seat.seat}
      </span>
      <span className="hidden truncate pe-3 sm:block">{seat.name}</span>
    </li>
  );
}

const Line = memo(function Line({
  drawn,
  rest,
  role,
  faded,
}: {
  drawn: string;
  /** Empty for a strand that has arrived or ended. */
  rest: string;
  role: Role;
  faded: boolean;
}): ReactNode {
  return (
    <g className={classNames(roleColours[role], faded && 'opacity-25')}>
      {rest !== '' ? (
        <path
          d={rest}
          className="stroke-line-strong"
          strokeWidth="1"
          strokeDasharray="1 5"
          vectorEffect="non-scaling-stroke"
        />
      ) : null}
      {drawn === '' ? null : (
        <path
          d={drawn}
          stroke="currentColor"
          strokeWidth="2.5"
          strokeLinecap="round"
          strokeLinejoin="round"
          vectorEffect="non-scaling-stroke"
        />
      )}
    </g>
  );
});

/** Where a strand ends early, and why; on phones the reason is below the drawing. */
function Cross({
  strand,
  reason,
  faded,
}: {
  strand: Strand;
  reason: string;
  faded: boolean;
}): ReactNode {
  const y = strandAt(strand, strand.reach);
  return (
    <svg
      x={`${(100 * strand.reach) / braidWidth}%`}
      y={y}
      width="1"
      height="1"
      overflow="visible"
      className={faded ? 'opacity-25' : undefined}
    >
      <path d="M-5 -5 5 5M5 -5 -5 5" className="stroke-bad" strokeWidth="2" fill="none" />
      <text
        x="14"
        dominantBaseline="central"
        fontSize="14"
        paintOrder="stroke"
        strokeWidth="6"
        className="hidden fill-ink-2 stroke-surface sm:block"
      >
        {reason}
      </text>
    </svg>
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
        { id: 'percent', title: 'Progress', numeric: true, cell: (seat) => `${seat.percent} %` },
        { id: 'standing', title: 'Stands', cell: (seat) => standing(seat, view) },
      ]}
    />
  );
}
