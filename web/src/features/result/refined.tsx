import { type ReactNode, useState } from 'react';
import type { Optimization } from '#services/optimizations/contract.ts';
import { claimText } from '#services/optimizations/reading/texts.ts';
import {
  changedTitle,
  givenFacts,
  refinementTitle,
} from '#services/optimizations/refinement/words.ts';
import { changingClaims, changingWords } from '#services/optimizations/reading/words/doubts.ts';
import { Button } from '#web/ui/form/button.tsx';
import { Cites } from './cites.tsx';
import { Section } from './section.tsx';

/** What a refinement was given, and what that changed; nothing for any other run. */
export function WhatChanged({ run }: { run: Optimization }): ReactNode {
  const { refines, result, refinements, council } = run;
  if (refines === null) return null;
  const changed = result?.changed ?? null;
  return (
    <Section
      title={changed === null ? refinementTitle(refines.number, refinements.length) : changedTitle}
    >
      {changed === null ? null : <p className="max-w-prose text-lg">{changed}</p>}
      <dl className="max-w-prose space-y-1 text-ink-2">
        {givenFacts(council, refines).map(({ label, text }, index) => (
          // Two earlier facts have one label.
          <div key={index}>
            <dt className="inline font-medium">{label}: </dt>
            <dd className="inline">{text}</dd>
          </div>
        ))}
      </dl>
    </Section>
  );
}

/** Claims shown at first. */
const shownAtOnce = 5;

/** The claims that carry the advice, each with a way to say that it is not so. */
export function WouldChange({
  run,
  onDifferent,
}: {
  run: Optimization;
  /** Null while the result cannot be refined. */
  onDifferent: ((claimId: string) => void) | null;
}): ReactNode {
  const [all, setAll] = useState(false);
  const claims = changingClaims(run.council);
  return (
    <>
      <ul className="divide-y divide-line border-y border-line">
        {(all ? claims : claims.slice(0, shownAtOnce)).map(({ id, ...changing }) => (
          <li
            key={id}
            className="flex flex-col gap-3 py-4 sm:flex-row sm:items-center sm:justify-between sm:gap-6"
          >
            <div className="max-w-prose min-w-0">
              <p className="break-words">{claimText(run.council, id)}</p>
              <p className="text-sm text-ink-2">{changingWords(changing)}</p>
              <Cites ids={[id]} />
            </div>
            {onDifferent === null ? null : (
              <Button className="shrink-0 print:hidden" onClick={() => onDifferent(id)}>
                This is different for me<span className="sr-only">: claim {id}</span>
              </Button>
            )}
          </li>
        ))}
      </ul>
      {claims.length > shownAtOnce && !all ? (
        <Button tone="quiet" className="-ms-4 print:hidden" onClick={() => setAll(true)}>
          See all ({claims.length})
        </Button>
      ) : null}
    </>
  );
}
