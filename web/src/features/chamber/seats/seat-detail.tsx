import { makerNameOf } from '#services/models/seating/words.ts';
import type { ReactNode } from 'react';
import {
  describeSeat,
  failureWords,
  repairWords,
} from '#services/optimizations/reading/describe.ts';
import { type AttemptView } from '#services/optimizations/reading/view.ts';
import { useRunPart } from '#web/live/live.ts';
import type { RunState } from '#web/live/run-state.ts';
import { Dialog } from '#web/ui/dialog.tsx';
import { latency, modelCost, figure, unknownFigure } from '#services/platform/numbers.ts';
import { percent } from '#web/ui/text/figures.ts';
import { Badge, Status } from '#web/ui/feedback/status.tsx';
import { DataTable } from '#web/ui/table-toggle.tsx';
import { Tile, TileRow } from '#web/ui/tile.tsx';
import { Answer } from '#web/run/answer.tsx';
import { attemptsOf, type Mark, marksOf, seatDollars } from '#web/run/marks.ts';
import { tokensOf } from '#services/optimizations/reading/costs.ts';
import { noAnswerWords, rankWords, seatTone, statusWord, stepWords } from '#web/run/seat-words.ts';
import { roleColours, roleWords } from '#web/run/drawing/roles.ts';

/** Everything about one seat, in a dialog that follows the run. */
export function SeatDetail({
  runId,
  seat,
  onClose,
}: {
  runId: string;
  /** Null when closed. */
  seat: string | null;
  onClose: () => void;
}): ReactNode {
  return (
    <Dialog open={seat !== null} onClose={onClose} title={seat === null ? '' : `Seat ${seat}`} wide>
      {seat === null ? null : <Detail runId={runId} code={seat} />}
    </Dialog>
  );
}

function Detail({ runId, code }: { runId: string; code: string }): ReactNode {
  const state = useRunPart(runId, whole);
  const { view } = state;
  const seat = view.seats.find((one) => one.seat === code);
  if (!seat) return null;
  const described = describeSeat(view, seat);
  const attempts = attemptsOf(view, code);
  const tokens = tokensOf(attempts.map((one) => one.attempt));
  const marks = marksOf(view);
  const isOver = view.conclusion !== null;
  const critique = view.calls[`review.${code}`]?.notes?.critique ?? null;
  return (
    <div className="space-y-6">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <span className={`text-lg font-semibold ${roleColours[seat.role]}`}>{seat.name}</span>
        <span className="text-ink-2">
          {makerNameOf(seat.family)} · {roleWords[seat.role]}
        </span>
        <Status tone={seatTone(described)}>{statusWord(described)}</Status>
        {seat.simulated ? <Badge>Simulated</Badge> : null}
      </div>
      <p className="text-ink-2">{stepWords(view, described)}</p>
      <TileRow>
        <Tile label="cost" value={modelCost(seatDollars(view, code))} />
        <Tile label="latency" value={latency(described.latencyMs)} />
        <Tile
          label="Tokens in"
          value={tokens.input === null ? unknownFigure : figure(tokens.input)}
        />
        <Tile
          label="Tokens out"
          value={tokens.output === null ? unknownFigure : figure(tokens.output)}
        />
        <Tile
          label="confidence"
          value={percent(described.confidence)}
          detail={rankWords(view, described)}
        />
      </TileRow>
      <section className="space-y-3">
        <h3 className="text-lg font-semibold">Answer</h3>
        <AnswerOrWords state={state} seat={code} />
      </section>
      <Marks
        title="Scores received"
        none={isOver ? 'No reviews of this answer.' : 'No reviews of this answer yet.'}
        marks={marks.filter((mark) => mark.answer === code)}
        other={(mark) => mark.reviewer}
        otherTitle="Reviewer"
      />
      <Marks
        title="Scores given"
        none={isOver ? "It didn't review the others." : "It hasn't reviewed the others yet."}
        marks={marks.filter((mark) => mark.reviewer === code)}
        other={(mark) => mark.answer}
        otherTitle="Answer"
      />
      {critique === null || critique === '' ? null : (
        <section className="space-y-1">
          <h3 className="text-lg font-semibold">Its review, in its own words</h3>
          <p className="max-w-prose">{critique}</p>
        </section>
      )}
      <Attempts attempts={attempts} />
    </div>
  );
}

const whole = (state: RunState): RunState => state;

/** The finished answer, or what has been written so far. */
function AnswerOrWords({ state, seat }: { state: RunState; seat: string }): ReactNode {
  const live = state.texts[`opinion.${seat}`];
  const { opinion = null } = state.view.calls[`opinion.${seat}`] ?? {};
  if (opinion) return <Answer view={state.view} seat={seat} heading="h4" />;
  if (live) return <p className="max-w-prose whitespace-pre-wrap">{live.text}</p>;
  return <p className="text-ink-2">{noAnswerWords(state.view, seat)}</p>;
}

function Marks({
  title,
  none,
  marks,
  other,
  otherTitle,
}: {
  title: string;
  none: string;
  marks: readonly Mark[];
  other: (mark: Mark) => string;
  otherTitle: string;
}): ReactNode {
  return (
    <section className="space-y-2">
      <h3 className="text-lg font-semibold">{title}</h3>
      {marks.length === 0 ? (
        <p className="text-ink-2">{none}</p>
      ) : (
        <DataTable
          caption={title}
          rows={marks}
          rowKey={other}
          columns={[
            { id: 'other', title: otherTitle, cell: other },
            {
              id: 'mean',
              title: 'Average (1 to 10)',
              numeric: true,
              cell: (mark) => mark.mean.toFixed(1),
            },
            {
              id: 'place',
              title: 'Place',
              numeric: true,
              cell: (mark) => `${mark.place} of ${mark.of}`,
            },
          ]}
        />
      )}
    </section>
  );
}

function Attempts({ attempts }: { attempts: ReturnType<typeof attemptsOf> }): ReactNode {
  return (
    <section className="space-y-2">
      <h3 className="text-lg font-semibold">Calls and retries</h3>
      {attempts.length === 0 ? (
        <p className="text-ink-2">No calls yet.</p>
      ) : (
        <DataTable
          caption="Calls and retries"
          rows={attempts}
          rowKey={({ call, number }) => `${call} ${number}`}
          columns={[
            {
              id: 'call',
              title: 'Call',
              cell: ({ call, number }) => (number === 1 ? call : `${call}, attempt ${number}`),
            },
            { id: 'end', title: 'Outcome', cell: ({ attempt }) => outcomeWords(attempt) },
            {
              id: 'latency',
              title: 'Latency',
              numeric: true,
              cell: ({ attempt }) => latency(attempt.latencyMs),
            },
            {
              id: 'cost',
              title: 'Cost',
              numeric: true,
              cell: ({ attempt }) =>
                modelCost(attempt.costMicros === null ? null : attempt.costMicros / 1_000_000),
            },
          ]}
        />
      )}
    </section>
  );
}

function outcomeWords(attempt: AttemptView): string {
  switch (attempt.status) {
    case 'open':
      return 'Under way';
    case 'succeeded':
      return ['Answered', ...attempt.repaired.map((repair) => repairWords[repair])].join('. ');
    case 'lost':
      return failureWords.lost;
    case 'failed':
      return attempt.failure === null ? 'Failed' : failureWords[attempt.failure];
  }
}
