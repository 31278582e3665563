import { memo, type ReactNode } from 'react';
import type { SeatProgress } from '#services/optimizations/contract/run.ts';
import { describeSeat } from '#services/optimizations/reading/describe.ts';
import { opinionOf } from '#services/optimizations/reading/texts.ts';
import { type RunView } from '#services/optimizations/reading/view.ts';
import { sameFields, useRunPart } from '#web/live/live.ts';
import type { RunState } from '#web/live/run-state.ts';
import { classNames } from '#web/ui/class-names.ts';
import { latency, modelCost } from '#services/platform/numbers.ts';
import { percent } from '#web/ui/text/figures.ts';
import { ProgressBar } from '#web/ui/feedback/progress-bar.tsx';
import { Status } from '#web/ui/feedback/status.tsx';
import {
  isOut,
  rankWords,
  roleColours,
  statusTones,
  statusWord,
  stepWords,
} from '#web/run/words.ts';

type Seat = RunView['seats'][number];
type CardFields = Omit<SeatProgress, 'rank'> &
  Record<'rank' | 'statusWord' | 'step' | 'lines', string>;

/** Characters that fit in two lines of a card. */
const lineCharacters = 220;

/**
 * One model at work. The card keeps its height and renders again only when its own seat changed.
 */
export const SeatCard = memo(function SeatCard({
  runId,
  seat,
  faded,
  compared,
  onFocus,
  onOpen,
  onCompare,
}: {
  runId: string;
  seat: Seat;
  faded: boolean;
  compared: boolean;
  onFocus: (seat: string | null) => void;
  onOpen: (seat: string) => void;
  onCompare: (seat: string, chosen: boolean) => void;
}): ReactNode {
  const card = useRunPart(runId, (state) => cardOf(state, seat), sameFields);
  const code = card.seat;
  const isGone = isOut(card.status);
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- it only lights the seat's strand; nothing depends on it
    <li
      aria-busy={card.status === 'processing' || card.status === 'retrying'}
      onPointerEnter={() => onFocus(code)}
      onPointerLeave={() => onFocus(null)}
      onFocus={() => onFocus(code)}
      onBlur={() => onFocus(null)}
      className={classNames(
        'flex min-h-72 flex-col rounded-card border border-line bg-surface p-4 transition-opacity duration-120',
        faded && 'opacity-45',
      )}
    >
      <div className="flex items-baseline justify-between gap-2">
        <h3 className="flex min-w-0 items-baseline gap-2">
          <span className={classNames('shrink-0 font-semibold', roleColours[card.role])}>
            {code}
          </span>
          <span className="truncate font-semibold" title={card.name}>
            {card.name}
          </span>
        </h3>
        <span className="shrink-0 text-ink-2">{percent(isGone ? null : card.progress)}</span>
      </div>
      <p className="mt-1 text-sm">
        <Status tone={statusTones[card.status]}>{card.statusWord}</Status>
      </p>
      <p className="line-clamp-1 text-sm text-ink-2" title={isGone ? undefined : card.step}>
        {isGone ? 'Out of this run' : card.step}
      </p>
      <div className="mt-2">
        <ProgressBar
          label={`Progress of ${code}`}
          value={card.progress}
          className={isGone ? 'text-line-strong' : roleColours[card.role]}
        />
      </div>
      <div
        // Words that change ten times a second are only visual; the reason for dropping out is not.
        aria-hidden={!isGone}
        className="mt-2 flex h-11 flex-col justify-end overflow-hidden"
      >
        <p className="text-sm text-ink-2">{isGone ? card.step : card.lines}</p>
      </div>
      <dl className="mt-2 flex flex-wrap justify-between gap-2 border-t border-line pt-2 text-sm">
        <Figure
          label="cost"
          value={modelCost(card.costCents === null ? null : card.costCents / 100)}
        />
        <Figure label="latency" value={latency(card.latencyMs)} />
        <Figure
          label="confidence"
          value={
            card.rank === ''
              ? percent(card.confidence)
              : `${percent(card.confidence)} · ${card.rank}`
          }
        />
      </dl>
      <div className="mt-auto flex flex-wrap items-center justify-between gap-x-2">
        <button
          type="button"
          onClick={() => onOpen(code)}
          className="-ms-2 min-h-11 rounded-control px-2 font-medium text-accent hover:bg-sunken"
        >
          Open<span className="sr-only"> {code}</span>
        </button>
        <label className="-me-2 flex min-h-11 cursor-pointer items-center gap-2 rounded-control px-2 text-sm hover:bg-sunken">
          <input
            type="checkbox"
            checked={compared}
            onChange={(event) => onCompare(code, event.currentTarget.checked)}
            className="size-4 accent-accent"
          />
          Compare<span className="sr-only"> {code}</span>
        </label>
      </div>
    </li>
  );
});

function Figure({ label, value }: { label: string; value: string }): ReactNode {
  return (
    <div className="min-w-0">
      <dt className="text-ink-3">{label}</dt>
      <dd>{value}</dd>
    </div>
  );
}

function cardOf(state: RunState, seat: Seat): CardFields {
  const { view } = state;
  const described = describeSeat(view, seat);
  return {
    ...described,
    rank: rankWords(view, described),
    statusWord: statusWord(described),
    step: stepWords(view, described),
    lines: linesOf(state, seat.seat),
  };
}

/** The end of what the seat is writing, else its answer in one line. */
function linesOf({ view, texts }: RunState, seat: string): string {
  const live = texts[`review.${seat}`] ?? texts[`opinion.${seat}`];
  if (live) return lastWords(live.text);
  return answerLine(view, seat);
}

function answerLine(view: RunView, seat: string): string {
  return opinionOf(view, seat)?.recommendation.one_line ?? '';
}

function lastWords(text: string): string {
  const flat = text.replace(/\s+/g, ' ');
  if (flat.length <= lineCharacters) return flat;
  const tail = flat.slice(-lineCharacters);
  return tail.slice(tail.indexOf(' ') + 1);
}
