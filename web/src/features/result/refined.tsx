import { type ReactNode, useState } from 'react';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import { claimText } from '#services/optimizations/reading/texts.ts';
import type { RunView } from '#services/optimizations/reading/view.ts';
import {
  changedClaims,
  changedClaimsWords,
  changedTitle,
  changedVotes,
  changeWords,
  claimsNote,
  differentWords,
  givenFacts,
  refinementTitle,
} from '#services/optimizations/reading/words/refinement.ts';
import { changingClaims } from '#services/optimizations/reading/words/doubts.ts';
import { Button } from '#web/ui/form/button.tsx';
import { Cites } from './cites.tsx';
import { Section } from './section.tsx';

/** What a refinement changed, who changed their vote, and what was given; nothing for any other run. */
export function WhatChanged({ run }: { run: Optimization }): ReactNode {
  const { refines, result, council } = run;
  if (refines === null) return null;
  const changed = result?.changed ?? null;
  return (
    <Section title={changed === null ? refinementTitle(refines.number) : changedTitle}>
      {changed === null ? null : <p className="max-w-prose text-lg">{changed}</p>}
      <Facts facts={changedVotes(council)} />
      <ChangedClaims view={council} />
      <Facts facts={givenFacts(council, refines)} />
    </Section>
  );
}

function Facts({ facts }: { facts: readonly { label: string; text: string }[] }): ReactNode {
  return (
    <dl className="max-w-prose space-y-1 text-ink-2">
      {facts.map(({ label, text }, index) => (
        // Two facts may have one label.
        <div key={index}>
          <dt className="inline font-medium text-ink">{label}: </dt>
          <dd className="inline">{text}</dd>
        </div>
      ))}
    </dl>
  );
}

function ChangedClaims({ view }: { view: RunView }): ReactNode {
  const claims = changedClaims(view);
  const words = changedClaimsWords(view);
  if (claims.length === 0) return <p className="text-ink-2">{words}</p>;
  return (
    <details className="max-w-prose">
      <summary className="min-h-11 cursor-pointer py-2.5 text-ink-2">{words}</summary>
      <ul className="space-y-3 pb-2">
        {claims.map(({ id, text }) => (
          <li key={id}>
            <p className="break-words">{text}</p>
            <Cites ids={[id]} />
          </li>
        ))}
      </ul>
    </details>
  );
}

/** Claims shown at first. */
const shownAtOnce = 5;

/** The claims that carry the advice, each with a way to say that it is not so. */
export function WouldChange({
  run: { council },
  onDifferent,
}: {
  run: Optimization;
  /** Null while the result cannot be refined. */
  onDifferent: ((claimId: string) => void) | null;
}): ReactNode {
  const [all, setAll] = useState(false);
  const claims = changingClaims(council);
  return (
    <>
      <ClaimsNote view={council} />
      <ul className="divide-y divide-line border-y border-line">
        {(all ? claims : claims.slice(0, shownAtOnce)).map((claim) => (
          <li
            key={claim.id}
            className="flex flex-col gap-3 py-4 sm:flex-row sm:items-center sm:justify-between sm:gap-6"
          >
            <div className="max-w-prose min-w-0">
              <p className="break-words">{claimText(council, claim.id)}</p>
              <Different view={council} id={claim.id} />
              <p className="text-sm text-ink-2">{changeWords(council, claim)}</p>
              <Cites ids={[claim.id]} />
            </div>
            {onDifferent === null || differentWords(council, claim.id) !== null ? null : (
              <Button className="shrink-0 print:hidden" onClick={() => onDifferent(claim.id)}>
                This is different for me<span className="sr-only">: claim {claim.id}</span>
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

/** In a refinement: where the claims come from. */
export function ClaimsNote({ view }: { view: RunView }): ReactNode {
  return view.refines === null ? null : (
    <p className="max-w-prose text-sm text-ink-2">{claimsNote}</p>
  );
}

/** What the person said about a claim; nothing where nothing. */
export function Different({ view, id }: { view: RunView; id: string }): ReactNode {
  const words = differentWords(view, id);
  return words === null ? null : (
    <p className="border-s-2 border-accent ps-2 text-sm break-words">{words}</p>
  );
}
