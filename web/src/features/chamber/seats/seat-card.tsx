import { makerNameOf } from '#services/models/seating/words.ts';
import { memo, type ReactNode } from 'react';
import type { SeatProgress } from '#services/optimizations/contract/run.ts';
import { describeSeat } from '#services/optimizations/reading/describe.ts';
import { type RunView } from '#services/optimizations/reading/view.ts';
import { latency, modelCost } from '#services/platform/numbers.ts';
import { sameFields, useRunPart } from '#web/live/live.ts';
import type { RunState } from '#web/live/run-state.ts';
import { isOut, rankWords, seatTone, statusWord, stepWords } from '#web/run/seat-words.ts';
import { roleColours, roleWords } from '#web/run/drawing/roles.ts';
import { classNames } from '#web/ui/class-names.ts';
import { ProgressBar } from '#web/ui/feedback/progress-bar.tsx';
import { Status } from '#web/ui/feedback/status.tsx';
import { percent } from '#web/ui/text/figures.ts';

type Seat = RunView['seats'][number];
type CardFields = Omit<SeatProgress, 'rank'> & Record<'rank' | 'statusWords' | 'step', string>;

/**
 * One model at work, as a button that shows its words. The card keeps its height and renders again
 * only when its own seat changed.
 */
export const SeatCard = memo(function SeatCard({
  runId,
  seat,
  faded,
  isShown,
  onFocus,
  onPick,
}: {
  runId: string;
  seat: Seat;
  faded: boolean;
  /** Its words are in the reading pane. */
  isShown: boolean;
  onFocus: (seat: string | null) => void;
  onPick: (seat: string) => void;
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
        'relative w-44 shrink-0 snap-start rounded-card border bg-surface px-2.5 py-3 text-sm transition-opacity duration-120 hover:bg-sunken has-focus-visible:outline-2 has-focus-visible:outline-offset-2 has-focus-visible:outline-accent sm:w-auto',
        isShown ? 'border-accent ring-1 ring-accent' : 'border-line',
        faded && 'opacity-45',
      )}
    >
      <div className="flex items-baseline justify-between gap-1">
        <p className={classNames('truncate font-semibold', roleColours[card.role])}>
          {code} {roleWords[card.role]}
        </p>
        <span className="shrink-0 text-ink-2">{percent(isGone ? null : card.progress)}</span>
      </div>
      <h3 className="truncate font-semibold">
        <button
          type="button"
          aria-pressed={isShown}
          title={card.name}
          onClick={() => onPick(code)}
          className="outline-none after:absolute after:inset-0 after:rounded-card"
        >
          {card.name}
          <span className="sr-only">, read {code}</span>
        </button>
      </h3>
      <p className="truncate text-ink-3">{makerNameOf(seat.family)}</p>
      <p
        className="line-clamp-2 h-[2lh] [&>span]:items-baseline"
        title={`${card.statusWords}${card.step}`}
      >
        <Status tone={seatTone(card)}>
          <span className="sr-only">{card.statusWords}</span>
          {card.step}
        </Status>
      </p>
      <div className="mt-1">
        <ProgressBar
          label={`Progress of ${code}`}
          value={card.progress}
          className={isGone ? 'text-line-strong' : roleColours[card.role]}
        />
      </div>
      <dl className="mt-2">
        <Figure
          label="cost"
          value={modelCost(card.costCents === null ? null : card.costCents / 100)}
        />
        <Figure label="latency" value={latency(card.latencyMs)} />
        <Figure label="confidence" value={percent(card.confidence)} title={card.rank} />
      </dl>
    </li>
  );
});

function Figure({
  label,
  value,
  title = '',
}: {
  label: string;
  value: string;
  title?: string;
}): ReactNode {
  return (
    <div className="flex justify-between gap-2" title={title === '' ? undefined : title}>
      <dt className="text-ink-3">{label}</dt>
      <dd>{value}</dd>
    </div>
  );
}

function cardOf({ view }: RunState, seat: Seat): CardFields {
  const described = describeSeat(view, seat);
  const [word, step] = [statusWord(described), stepWords(view, described)];
  return {
    ...described,
    rank: rankWords(view, described),
    // A retry's step begins with it.
    statusWords: step.startsWith(word) ? '' : `${word}: `,
    step,
  };
}
