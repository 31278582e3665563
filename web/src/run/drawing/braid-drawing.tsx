import { memo, type ReactNode, useMemo } from 'react';
import { classNames } from '#web/ui/class-names.ts';
import {
  braidHeight,
  braidStrands,
  braidWidth,
  type Strand,
  strandAt,
  strandPaths,
} from '#web/run/braid-shape.ts';
import type { BraidSeat, BraidView } from '#web/run/braid-view.ts';
import { phases } from './phases.ts';
import { type Role, roleColours } from './roles.ts';

type DrawnSeat = Pick<
  BraidSeat,
  'seat' | 'name' | 'role' | 'progress' | 'placement' | 'camp' | 'ended'
> & {
  /** Words above the end of the strand. */
  readonly mark?: string | null;
};

/** What is drawn of a run. */
export type DrawnBraid = Pick<BraidView, 'modal' | 'chosen' | 'twoCamps' | 'isGettingReady'> & {
  readonly seats: readonly DrawnSeat[];
};

/** One highlighted seat while the others fade; null for none. */
export type SeatFocus = {
  readonly seat: string | null;
  readonly set: (seat: string | null) => void;
};

/** `braidPadding` and `strandDistance` as classes: prerendered pages have no style attributes. */
const labels = 'py-3.75';
const label = 'h-6';

/**
 * The strands of a run below the names of its phases. `small` leaves out the phases, and
 * names each model instead of its seat.
 */
export function BraidDrawing({
  view,
  sentence,
  focus,
  small = false,
}: {
  view: DrawnBraid;
  /** The same in words. */
  sentence: string;
  focus?: SeatFocus | undefined;
  small?: boolean;
}): ReactNode {
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
    <div
      className={classNames(
        'grid',
        small
          ? 'grid-cols-[min(8.5rem,45%)_minmax(0,1fr)]'
          : 'grid-cols-[1.75rem_minmax(0,1fr)] sm:grid-cols-[11rem_minmax(0,1fr)]',
      )}
    >
      {small ? null : (
        <>
          <div />
          <ol className="grid grid-cols-4 text-sm text-ink-3" aria-hidden="true">
            {phases.map(({ name }) => (
              <li key={name} className="min-w-0">
                <PhaseName name={name} />
              </li>
            ))}
          </ol>
        </>
      )}
      <ul className={labels} aria-hidden="true">
        {seats.map((seat) => (
          <Label key={seat.seat} seat={seat} focus={focus} small={small} />
        ))}
      </ul>
      <svg
        width="100%"
        height={height}
        role="img"
        aria-label={sentence}
        className="min-w-0 overflow-visible"
      >
        <svg
          width="100%"
          height={height}
          viewBox={`0 0 ${braidWidth} ${height}`}
          preserveAspectRatio="none"
          fill="none"
        >
          {phases.map(({ name }, column) =>
            column === 0 ? null : (
              <line
                key={name}
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
        {rows.map(({ seat: { seat, mark }, strand }) =>
          mark ? (
            <text
              key={seat}
              x="100%"
              y={strand.to - 7}
              textAnchor="end"
              fontSize="14"
              paintOrder="stroke"
              strokeWidth="5"
              className="fill-ink stroke-surface font-medium"
            >
              {mark}
            </text>
          ) : null,
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
function PhaseName({ name }: { name: string }): ReactNode {
  return name.split(/(?<=[ -])/).map((word) => (
    <span key={word} className="block sm:inline">
      {word.replace(/(?<=Gener|Evalu|Detec)(?=ation|tion)/, '\u00ad')}
    </span>
  ));
}

/** For the pointer only: the keyboard reaches the same seat at its card. */
function Label({
  seat,
  focus,
  small,
}: {
  seat: DrawnSeat;
  focus: SeatFocus | undefined;
  small: boolean;
}): ReactNode {
  return (
    <li
      onPointerEnter={() => focus?.set(seat.seat)}
      onPointerLeave={() => focus?.set(null)}
      className={classNames(
        label,
        'flex items-center gap-2 overflow-hidden text-sm whitespace-nowrap',
        isFaded(focus, seat.seat) && 'opacity-40',
      )}
    >
      {small ? (
        <span className={classNames('font-medium', roleColours[seat.role])}>{seat.name}</span>
      ) : (
        <>
          <span className={classNames('w-6 shrink-0 font-semibold', roleColours[seat.role])}>
            {seat.seat}
          </span>
          <span className="hidden truncate pe-3 sm:block">{seat.name}</span>
        </>
      )}
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
