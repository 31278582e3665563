import type { ReactNode } from 'react';
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

/** Two or three answers side by side, with their claims in the same rows. */
export function Compare({
  runId,
  seats,
  onClose,
}: {
  runId: string;
  /** Empty when closed. */
  seats: readonly string[];
  onClose: () => void;
}): ReactNode {
  return (
    <Dialog open={seats.length > 0} onClose={onClose} title={`Compare ${listed(seats)}`} wide>
      {seats.length === 0 ? null : <Comparison runId={runId} seats={seats} />}
    </Dialog>
  );
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
