import type { ReactNode } from 'react';
import { phases } from '#web/run/drawing/phases.ts';
import { roleColours } from '#web/run/drawing/roles.ts';
import { classNames } from '#web/ui/class-names.ts';
import { Ring } from '#web/ui/ring.tsx';
import type { Film, FilmVote, Frame } from './film.ts';

/**
 * The words of each part of the film. All lie in one cell, so the tallest sets the height and nothing
 * around them moves; only that of the frame is visible.
 */
export function Scenes({ film, frame }: { film: Film; frame: Frame }): ReactNode {
  const scenes = [
    <Question key="question" film={film} />,
    <AnswersIn key="answers" film={film} frame={frame} />,
    <Objection key="objection" film={film} share={shareOf(frame, 2)} />,
    <Votes key="votes" film={film} />,
    <Decision key="decision" film={film} share={shareOf(frame, 4)} />,
  ];
  return (
    <div className="grid grid-cols-1">
      {scenes.map((scene, part) => (
        <div
          key={scene.key}
          className={classNames(
            'col-start-1 row-start-1 space-y-3',
            part !== frame.part && 'invisible',
          )}
        >
          <p className="text-ink-2">{leadOf(film, part)}</p>
          {scene}
        </div>
      ))}
    </div>
  );
}

/** What happens in a part. The last is also the still picture, so it says what came before. */
function leadOf({ seats }: Film, part: number): string | undefined {
  if (part === 0) return `A business owner asks. ${seats.length} AI models take the question.`;
  if (part < phases.length) return phases[part - 1]?.fact;
  return `${seats.length} models answered, reviewed each other with the names removed, and voted. One wrote the recommendation, dissent included.`;
}

function shareOf(frame: Frame, part: number): number {
  return frame.part === part ? frame.share : frame.part > part ? 1 : 0;
}

function Question({ film }: { film: Film }): ReactNode {
  return (
    <>
      <blockquote className="border-s-2 border-accent ps-4">{film.challenge}</blockquote>
      <p className="text-sm text-ink-2">{film.context}</p>
    </>
  );
}

/** The options, each with the models that proposed it, as their answers come in. */
function AnswersIn({ film, frame }: { film: Film; frame: Frame }): ReactNode {
  const isIn = (seat: string): boolean =>
    film.seats.some((one) => one.seat === seat && one.answeredAt <= frame.at);
  return (
    <ul className="space-y-3">
      {film.options.map(({ text, seats }) => (
        <li key={text} className={seats.some(isIn) ? undefined : 'invisible'}>
          <p className="font-medium">{text}</p>
          <Models film={film} seats={seats} isShown={isIn} />
        </li>
      ))}
    </ul>
  );
}

function Models({
  film,
  seats,
  isShown = () => true,
}: {
  film: Film;
  seats: readonly string[];
  isShown?: (seat: string) => boolean;
}): ReactNode {
  return (
    <p className="flex flex-wrap gap-x-4 text-sm">
      {seats.map((seat) => (
        <span key={seat} className={isShown(seat) ? undefined : 'invisible'}>
          <Model film={film} seat={seat} />
        </span>
      ))}
    </p>
  );
}

/** A model's name in the colour of its strand. */
export function Model({ film, seat }: { film: Film; seat: string }): ReactNode {
  const known = film.seats.find((one) => one.seat === seat);
  return known ? (
    <span className={classNames('font-medium', roleColours[known.role])}>{known.name}</span>
  ) : null;
}

function Objection({ film, share }: { film: Film; share: number }): ReactNode {
  const { text, seats } = film.objection;
  return (
    <>
      <p className="font-medium">
        {seats.length} models find a flaw in an answer, without knowing whose it is:
      </p>
      <blockquote className="border-s-2 border-bad ps-4">
        <Written text={text} share={share * 2} />
      </blockquote>
      <Models film={film} seats={seats} />
    </>
  );
}

function Votes({ film }: { film: Film }): ReactNode {
  const { agreement, claims, votes, seats } = film;
  return (
    <div className="flex flex-wrap items-start gap-4 sm:grid sm:grid-cols-[8.5rem_minmax(0,1fr)]">
      <ul className="w-full space-y-3 sm:col-start-2">
        {votes.map((vote) => (
          <li key={vote.text}>
            <p>
              <span className="font-semibold">
                {vote.seats.length} of {seats.length}
              </span>{' '}
              {vote.text}
            </p>
            <Models film={film} seats={vote.seats} />
          </li>
        ))}
      </ul>
      <div className="w-34 max-w-full sm:col-start-1 sm:row-span-2 sm:row-start-1">
        <Ring score={agreement} />
      </div>
      <p className="min-w-0 grow basis-30 text-sm text-ink-2">
        The answers make {claims.all} claims. The models agree on {claims.agreed} of them.
      </p>
    </div>
  );
}

function Decision({ film, share }: { film: Film; share: number }): ReactNode {
  const { text, reply, seats } = film.objection;
  return (
    <>
      <p className="font-medium text-accent">{film.outcome}</p>
      <p className="font-serif text-xl font-medium">
        <Written text={film.decision} share={share * 2} />
      </p>
      <div className="space-y-1 border-s-2 border-bad ps-4 text-sm">
        <p>
          <span className="font-medium">A flaw that {seats.length} models found:</span> {text}
        </p>
        <p className={share < 0.5 ? 'invisible' : undefined}>
          <span className="font-medium">What the recommendation does about it:</span> {reply}
        </p>
      </div>
      <div className="space-y-1 text-sm">
        <p className="font-medium">Who disagreed, and why</p>
        <ul className="space-y-1">
          {film.votes.slice(1).map((vote) => (
            <Dissent key={vote.text} film={film} vote={vote} />
          ))}
        </ul>
      </div>
    </>
  );
}

function Dissent({ film, vote }: { film: Film; vote: FilmVote }): ReactNode {
  return (
    <li>
      <Models film={film} seats={vote.seats} />
      {vote.text}. <span className="text-ink-2">“{vote.reason}”</span>
    </li>
  );
}

/** A text of which the first part is written; the rest keeps its place. */
function Written({ text, share }: { text: string; share: number }): ReactNode {
  const wanted = Math.round(text.length * Math.max(0, share));
  const space = text.indexOf(' ', wanted);
  const end = space === -1 ? text.length : space;
  return (
    <>
      {text.slice(0, end)}
      <span className="invisible">{text.slice(end)}</span>
    </>
  );
}
