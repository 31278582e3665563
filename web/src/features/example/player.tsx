import { type ReactNode, useMemo, useRef } from 'react';
import { BraidDrawing } from '#web/run/drawing/braid-drawing.tsx';
import { phases } from '#web/run/drawing/phases.ts';
import { classNames } from '#web/ui/class-names.ts';
import { Button } from '#web/ui/form/button.tsx';
import { useHydrated } from '#web/ui/hydrated.ts';
import { braidAt, endOf, type Film, filmMs, frameAt, sentenceAt } from './film.ts';
import { Scenes } from './scenes.tsx';
import { type Clock, useClock } from './use-clock.ts';
import { Words } from './words.tsx';

/** Of the build, see `film-of-run.ts`. */
const builtFilm = import.meta.env.EXAMPLE_FILM;

/** The recorded run as a short film; `large` adds the question and each answer. */
export function Player({ large }: { large: boolean }): ReactNode {
  return builtFilm ? <Playing film={builtFilm} large={large} /> : null;
}

function Playing({ film, large }: { film: Film; large: boolean }): ReactNode {
  const stage = useRef<HTMLDivElement>(null);
  const clock = useClock(filmMs, stage);
  const frame = frameAt(film, clock.ms);
  const braid = useMemo(() => braidAt(film, frame.at), [film, frame.at]);
  return (
    <section aria-label="Recorded example" className="rounded-card border border-line bg-surface">
      <div className="flex flex-wrap items-center justify-between border-b border-line py-1 ps-4 pe-1 sm:ps-6 sm:pe-3">
        <p className="min-w-0 grow basis-30 text-sm text-ink-2">
          Recorded example, simulated models
        </p>
        <Controls clock={clock} />
      </div>
      <div className="space-y-4 p-4 sm:p-6">
        <p className="font-serif text-2xl font-medium">{film.title}</p>
        <div ref={stage} className={large ? 'grid grid-cols-1 gap-6 lg:grid-cols-2' : 'space-y-4'}>
          <div className="space-y-4">
            <Parts part={frame.part} show={clock.show} />
            <BraidDrawing view={braid} sentence={sentenceAt(film, frame)} small />
          </div>
          <Scenes film={film} frame={frame} />
        </div>
        {large ? <Words film={film} at={frame.at} /> : null}
      </div>
    </section>
  );
}

function Controls({ clock }: { clock: Clock }): ReactNode {
  const ended = clock.ms >= filmMs;
  const toggle = clock.playing
    ? { word: 'Pause', sign: 'M7 4v12M13 4v12', press: clock.pause }
    : { word: 'Play', sign: 'M7 4l8 6-8 6z', press: clock.play };
  return (
    <div className={classNames('flex', clock.still && 'invisible')}>
      <Control {...toggle} hidden={ended} />
      <Control word="Restart" sign="M5 10a5 5 0 1 0 2-4M7 2.5V6h3.5" press={clock.restart} />
    </div>
  );
}

/** A sign with its word; on phones the word is only read aloud. */
function Control({
  word,
  sign,
  press,
  hidden = false,
}: {
  word: string;
  sign: string;
  press: () => void;
  hidden?: boolean;
}): ReactNode {
  const hydrated = useHydrated();
  return (
    <Button
      tone="quiet"
      disabled={!hydrated}
      className={classNames('px-3 text-sm', hidden && 'invisible')}
      onClick={press}
    >
      <svg
        viewBox="0 0 20 20"
        width="20"
        height="20"
        fill="none"
        stroke="currentColor"
        strokeWidth="2"
        aria-hidden="true"
      >
        <path d={sign} />
      </svg>
      <span className="sr-only sm:not-sr-only">{word}</span>
    </Button>
  );
}

/** The four phases; pressing one shows what it had to show. */
function Parts({ part, show }: { part: number; show: (ms: number) => void }): ReactNode {
  const hydrated = useHydrated();
  return (
    <ol className="grid grid-cols-4 sm:ms-34">
      {phases.map(({ name }, index) => (
        <li key={name} className="min-w-0">
          <button
            type="button"
            disabled={!hydrated}
            aria-current={part === index + 1 ? 'step' : undefined}
            onClick={() => show(endOf(index + 1))}
            className="flex size-full min-h-11 border-t-2 border-line pt-1 text-start text-sm wrap-anywhere text-ink-3 hover:text-ink aria-[current=step]:border-accent aria-[current=step]:font-medium aria-[current=step]:text-ink"
          >
            {name}
          </button>
        </li>
      ))}
    </ol>
  );
}
