import type { ReactNode } from 'react';
import type { Flaw } from '#services/optimizations/contract/result.ts';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import { seatName, seatNames } from '#services/optimizations/reading/words/names.ts';
import { replyWords } from '#services/optimizations/reading/words/doubts.ts';

/** Mistakes that two or more reviewers found in one answer, and what the recommendation replies. */
export function Flaws({ run, flaws }: { run: Optimization; flaws: readonly Flaw[] }): ReactNode {
  return (
    <ul className="space-y-6">
      {flaws.map((flaw) => (
        <li key={flaw.id} className="max-w-prose space-y-2 border-s-4 border-warn ps-4">
          <p className="font-medium">About the answer of {seatName(run.models, flaw.about_seat)}</p>
          <ul className="space-y-2">
            {flaw.texts.map(({ seats, text }) => (
              <li key={text}>
                <span className="text-ink-2">{seatNames(run.models, seats)}:</span> {text}
              </li>
            ))}
          </ul>
          <p>{replyWords(flaw)}</p>
        </li>
      ))}
    </ul>
  );
}
