import { type ReactNode, useState } from 'react';
import { describeSeat } from '#services/optimizations/reading/describe.ts';
import { claimText, opinionOf } from '#services/optimizations/reading/texts.ts';
import { ballotOf, type RunView } from '#services/optimizations/reading/view.ts';
import { useRunPart } from '#web/live/live.ts';
import { Dialog } from '#web/ui/dialog.tsx';
import { latency, modelCost } from '#services/platform/numbers.ts';
import { percent } from '#web/ui/text/figures.ts';
import { type Column, DataTable } from '#web/ui/table-toggle.tsx';
import { seatDollars } from '#web/run/marks.ts';
import { listed } from '#services/models/seating/words.ts';

const most = 3;

/** Two or three answers side by side, with their claims in the same rows. */
export function Compare({
  runId,
  seats,
  open,
  onClose,
}: {
  runId: string;
  seats: readonly RunView['seats'][number][];
  open: boolean;
  onClose: () => void;
}): ReactNode {
  const [chosen, setChosen] = useState<readonly string[]>(() => firstOfEachRole(seats));
  return (
    <Dialog open={open} onClose={onClose} title="Compare answers" wide>
      <fieldset className="flex flex-wrap gap-x-4">
        <legend className="mb-1 text-ink-2">Two or three models</legend>
        {seats.map(({ seat, name }) => {
          const isChosen = chosen.includes(seat);
          const isLast = isChosen && chosen.length === 2;
          return (
            <label key={seat} className="flex min-h-11 items-center gap-2">
              <input
                type="checkbox"
                checked={isChosen}
                disabled={isLast || (!isChosen && chosen.length === most)}
                onChange={() =>
                  setChosen(isChosen ? chosen.filter((one) => one !== seat) : [...chosen, seat])
                }
                className="size-5 accent-accent"
              />
              {seat} {name}
            </label>
          );
        })}
      </fieldset>
      {open ? <Comparison runId={runId} seats={chosen} /> : null}
    </Dialog>
  );
}

function firstOfEachRole(seats: readonly RunView['seats'][number][]): string[] {
  return seats
    .filter(({ role }, place) => seats.findIndex((other) => other.role === role) === place)
    .map(({ seat }) => seat);
}

type Row = { id: string; title: ReactNode; cell: (seat: string) => ReactNode };

const rowTitle = (row: Row): ReactNode => <span className="font-medium">{row.title}</span>;

function Comparison({ runId, seats }: { runId: string; seats: readonly string[] }): ReactNode {
  const view = useRunPart(runId, (state) => state.view);
  const columns: Column<Row>[] = [
    { id: 'what', title: 'Topic', cell: rowTitle },
    ...seats.map((seat) => ({
      id: seat,
      title: `${seat} ${view.seats.find((one) => one.seat === seat)?.name ?? ''}`,
      cell: (row: Row) => row.cell(seat),
    })),
  ];
  return (
    <DataTable
      caption={`${listed(seats)} side by side`}
      columns={columns}
      rows={[...answerRows(view), ...claimRows(view)]}
      rowKey={(row) => row.id}
    />
  );
}

const nothing = '--';

function answerRows(view: RunView): Row[] {
  const seatOf = (code: string) => {
    const seat = view.seats.find((one) => one.seat === code);
    return seat ? describeSeat(view, seat) : null;
  };
  return [
    {
      id: 'recommendation',
      title: 'Recommendation',
      cell: (seat) => opinionOf(view, seat)?.recommendation.one_line ?? nothing,
    },
    {
      id: 'confidence',
      title: 'confidence',
      cell: (seat) => percent(seatOf(seat)?.confidence ?? null),
    },
    { id: 'latency', title: 'latency', cell: (seat) => latency(seatOf(seat)?.latencyMs ?? null) },
    { id: 'cost', title: 'cost', cell: (seat) => modelCost(seatDollars(view, seat)) },
  ];
}

/** The ledger's claims; before there are any, it is unknown which claims are the same. */
function claimRows(view: RunView): Row[] {
  if (!view.ledger) {
    return [
      {
        id: 'claims',
        title: 'Claims',
        cell: (seat) => (
          <ul className="list-disc space-y-1 ps-5">
            {(opinionOf(view, seat)?.claims ?? []).map((claim) => (
              <li key={claim.text}>{claim.text}</li>
            ))}
          </ul>
        ),
      },
    ];
  }
  return Object.entries(view.ledger.claims).map(([id, claim]) => ({
    id,
    title: `${id} ${claimText(view, id)}`,
    cell: (seat) => {
      const vote = ballotOf(view, seat)?.votes[id];
      const quote = claim.quotes.find((one) => one.seat === seat);
      return (
        <>
          <p>{vote ? `${stances[vote.stance]}, ${vote.confidence}% sure` : 'No vote'}</p>
          {quote ? <blockquote className="text-sm text-ink-2">{quote.quote}</blockquote> : null}
        </>
      );
    },
  }));
}

const stances = { agree: 'Agrees', disagree: 'Disagrees', unsure: 'Unsure' } as const;
