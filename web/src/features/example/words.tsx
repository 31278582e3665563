import type { ReactNode } from 'react';
import type { Film } from './film.ts';
import { Model } from './scenes.tsx';

/** The whole question, and what each model answered, in one line as it comes in. */
export function Words({ film, at }: { film: Film; at: number }): ReactNode {
  return (
    <div className="space-y-8 border-t border-line pt-6">
      <div className="space-y-3">
        <h2 className="text-2xl">The question in full</h2>
        <p className="max-w-prose">{film.challenge}</p>
        <p className="max-w-prose text-ink-2">{film.context}</p>
      </div>
      <div className="space-y-4">
        <h2 className="text-2xl">What each model answered</h2>
        <ul className="grid grid-cols-1 gap-x-6 gap-y-4 sm:grid-cols-2">
          {film.seats.map(({ seat, answer, answeredAt }) => (
            <li key={seat} className={answeredAt <= at ? undefined : 'invisible'}>
              <p className="text-sm">
                <Model film={film} seat={seat} />
              </p>
              <p>{answer}</p>
            </li>
          ))}
        </ul>
      </div>
    </div>
  );
}
