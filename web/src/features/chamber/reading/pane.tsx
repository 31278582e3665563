import { type ReactNode, type RefObject, useEffect, useRef } from 'react';
import { describeSeat } from '#services/optimizations/reading/describe.ts';
import { opinionOf } from '#services/optimizations/reading/texts.ts';
import { sameFields, useRunPart } from '#web/live/live.ts';
import type { RunState } from '#web/live/run-state.ts';
import { Answer } from '#web/run/answer.tsx';
import { type Role, roleColours } from '#web/run/drawing/roles.ts';
import { noAnswerWords, stepWords } from '#web/run/seat-words.ts';
import { Button } from '#web/ui/form/button.tsx';
import { Card } from '#web/ui/card.tsx';
import { classNames } from '#web/ui/class-names.ts';
import { type Heard, heardOf, nextReading, type Reading, type Words } from './choice.ts';

/** How often a pause is noticed, in milliseconds. */
const tickMs = 500;
/** Scrolling by less is no reading, in pixels. */
const scrollSlack = 24;

/** The words of one seat as they arrive. It follows the writing until the reader picks a seat. */
export function ReadingPane({
  runId,
  reading,
  onRead,
  onOpen,
  onBusy,
  isBeside,
}: {
  runId: string;
  reading: Reading;
  onRead: (next: Reading) => void;
  /** Opens everything about a seat. */
  onOpen: (seat: string) => void;
  /** Whether the reader selects or scrolls the words, at every tick. */
  onBusy: (isBusy: boolean) => void;
  /** It stands beside the models and stays in view. */
  isBeside: boolean;
}): ReactNode {
  const heard = useRef<Heard>({});
  const texts = useRunPart(runId, (state) => state.texts);
  const live = reading.seat === null ? null : liveOf(texts, reading.seat);
  const emptyWords = useRunPart(runId, ({ view }) =>
    isWriting(view)
      ? 'Answers appear here as the models write them.'
      : 'There is no answer to read.',
  );
  const { frame, isScrolled, onScroll } = useFollowing(reading.seat, live !== null);
  useEffect(() => {
    const choose = (): void => {
      heard.current = heardOf(heard.current, writingIn(texts), performance.now());
      const isBusy = isScrolled() || hasSelection(frame.current);
      onBusy(isBusy);
      const next = nextReading(reading, heard.current, performance.now(), isBusy);
      if (next !== reading) onRead(next);
    };
    choose();
    const timer = setInterval(choose, tickMs);
    return () => clearInterval(timer);
  });
  return (
    <Card
      aria-labelledby="reading"
      data-part="words"
      className={classNames(
        'flex h-96 flex-col gap-2',
        isBeside && 'xl:sticky xl:top-6 xl:h-[calc(100dvh-3rem)] xl:max-h-176',
      )}
    >
      <Head runId={runId} reading={reading} onRead={onRead} onOpen={onOpen} />
      <section
        ref={frame}
        aria-label={reading.seat === null ? 'Words of the models' : `Words of ${reading.seat}`}
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a scrolling region must be reachable by keyboard
        tabIndex={0}
        onScroll={onScroll}
        className="min-h-0 grow overflow-y-auto rounded-control bg-sunken p-4"
      >
        {reading.seat === null ? (
          <p className="text-ink-2">{emptyWords}</p>
        ) : (
          <SeatWords runId={runId} seat={reading.seat} live={live} />
        )}
      </section>
    </Card>
  );
}

function Head({
  runId,
  reading,
  onRead,
  onOpen,
}: {
  runId: string;
  reading: Reading;
  onRead: (next: Reading) => void;
  onOpen: (seat: string) => void;
}): ReactNode {
  const { seat } = reading;
  const shown = useRunPart(runId, (state) => headOf(state, seat), sameFields);
  return (
    <div>
      <div className="flex min-h-11 items-center justify-between gap-3">
        <h2 id="reading" className="min-w-0 truncate text-xl">
          {seat === null ? (
            'Live answers'
          ) : (
            <>
              <span className={roleColours[shown.role]}>{seat}</span> {shown.name}
            </>
          )}
        </h2>
        {seat === null ? null : (
          <Button tone="quiet" className="-me-4 shrink-0" onClick={() => onOpen(seat)}>
            Details<span className="sr-only"> of {seat}</span>
          </Button>
        )}
      </div>
      <div className="flex min-h-11 items-center justify-between gap-3 text-sm text-ink-2">
        <p className="line-clamp-2 h-[2lh] min-w-0">
          {shown.step}
          {seat !== null && shown.isWritten && !reading.isPinned
            ? '. This pane follows the writing.'
            : null}
        </p>
        {reading.isPinned && shown.isWritten ? (
          <Button
            tone="quiet"
            className="-me-4 shrink-0 text-sm"
            onClick={() => onRead({ ...reading, since: Number.NEGATIVE_INFINITY, isPinned: false })}
          >
            Follow the writing
          </Button>
        ) : null}
      </div>
    </div>
  );
}

/** Whether models still answer or review. */
export function isWriting({ stage }: RunState['view']): boolean {
  return ['draft', 'opinions', 'claims', 'reviews'].includes(stage);
}

function headOf(
  { view }: RunState,
  code: string | null,
): { role: Role; name: string; step: string; isWritten: boolean } {
  const seat = view.seats.find((one) => one.seat === code);
  const isWritten = isWriting(view);
  if (!seat)
    return {
      role: 'strategic',
      name: '',
      step: isWritten ? 'Pick a model to stay with it.' : 'No model answered.',
      isWritten,
    };
  return {
    role: seat.role,
    name: seat.name,
    step: stepWords(view, describeSeat(view, seat)),
    isWritten,
  };
}

/** What the seat writes, else its finished answer. */
function SeatWords({
  runId,
  seat,
  live,
}: {
  runId: string;
  seat: string;
  live: string | null;
}): ReactNode {
  const view = useRunPart(
    runId,
    (state) => state.view,
    (one, other) => opinionOf(one, seat) === opinionOf(other, seat),
  );
  const none = useRunPart(runId, (state) => noAnswerWords(state.view, seat));
  if (live !== null)
    return (
      <div className="max-w-prose space-y-3 text-lg leading-relaxed">
        {live.split(/\n{2,}/).map((paragraph, place) => (
          // Only the last one grows, so only the last one is laid out again.
          <p key={place} className="whitespace-pre-wrap wrap-anywhere">
            {paragraph}
          </p>
        ))}
      </div>
    );
  if (opinionOf(view, seat)) return <Answer view={view} seat={seat} heading="h3" />;
  return <p className="text-ink-2">{none}</p>;
}

/** Keeps the end of the words in view, unless the reader has scrolled away from it. */
function useFollowing(
  seat: string | null,
  isLive: boolean,
): { frame: RefObject<HTMLElement | null>; isScrolled: () => boolean; onScroll: () => void } {
  const frame = useRef<HTMLElement>(null);
  /** Where this code last put the frame, in pixels. */
  const put = useRef(0);
  const scrolled = useRef(false);
  const shown = useRef(seat);
  useEffect(() => {
    const element = frame.current;
    if (!element) return;
    if (shown.current !== seat) {
      shown.current = seat;
      scrolled.current = false;
    }
    if (scrolled.current) return;
    // A finished answer begins at its beginning.
    element.scrollTop = isLive ? element.scrollHeight : 0;
    put.current = element.scrollTop;
  });
  return {
    frame,
    isScrolled: () => scrolled.current,
    onScroll: () => {
      const element = frame.current;
      if (!element) return;
      const { scrollTop, scrollHeight, clientHeight } = element;
      const isAtEnd = scrollHeight - scrollTop - clientHeight <= scrollSlack;
      scrolled.current = Math.abs(scrollTop - put.current) > scrollSlack && !(isLive && isAtEnd);
    },
  };
}

function hasSelection(frame: HTMLElement | null): boolean {
  const selection = document.getSelection();
  return (
    selection !== null &&
    !selection.isCollapsed &&
    frame !== null &&
    selection.containsNode(frame, true)
  );
}

/** Each seat's unfinished call; its review replaces its answer. */
function writingIn(texts: RunState['texts']): Record<string, Words> {
  const writing: Record<string, Words> = {};
  for (const kind of ['opinion', 'review'])
    for (const [slot, { attempt, end }] of Object.entries(texts))
      if (slot.startsWith(`${kind}.`))
        writing[slot.slice(kind.length + 1)] = { slot, attempt, end };
  return writing;
}

function liveOf(texts: RunState['texts'], seat: string): string | null {
  // Before the first word of a review its answer stays.
  return (texts[`review.${seat}`] ?? texts[`opinion.${seat}`])?.text || null;
}
