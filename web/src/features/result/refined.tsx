import type { ReactNode } from 'react';
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
  newerTitle,
  refinementTitle,
} from '#services/optimizations/reading/words/refinement.ts';
import { takenUp, takenUpWords } from '#services/optimizations/reading/words/taken-up.ts';
import { changingClaims } from '#services/optimizations/reading/words/doubts.ts';
import { classNames } from '#web/ui/class-names.ts';
import { Button, LinkButton } from '#web/ui/form/button.tsx';
import { useSeeAll } from '#web/ui/see-all.tsx';
import { RelativeTime } from '#web/ui/text/relative-time.tsx';
import { Cites } from './cites.tsx';
import { Section } from './section.tsx';

/** Above a result that a refinement has replaced: what holds now. */
export function NewerAnswer({ run: { newer } }: { run: Optimization }): ReactNode {
  if (newer === null) return null;
  const { id, number, outcome, decision, changed, same_option: isSame, ended_at: at } = newer;
  return (
    <section
      aria-labelledby="newer"
      className={classNames(
        'space-y-3 rounded-card border-2 p-4 sm:p-6',
        isSame ? 'border-line-strong bg-surface' : 'border-accent bg-accent-soft',
      )}
    >
      <h2 id="newer" className="text-xl">
        {newerTitle(newer)}
      </h2>
      <p className="text-ink-2">
        {outcome}
        {at === null ? null : (
          <>
            {' · '}
            <RelativeTime at={at} />
          </>
        )}
      </p>
      <p className="max-w-prose font-serif text-3xl">{decision}</p>
      {changed === null ? null : (
        <p className="max-w-prose">
          <span className="font-semibold">{changedTitle}:</span> {changed}
        </p>
      )}
      <LinkButton
        tone={isSame ? 'secondary' : 'primary'}
        to="/optimizations/$id"
        params={{ id }}
        className="print:hidden"
      >
        Read {refinementTitle(number)}
      </LinkButton>
    </section>
  );
}

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
      <TakenUp view={council} />
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

/** The reasons of the second vote that answer to what was given. */
function TakenUp({ view }: { view: RunView }): ReactNode {
  const words = view.scores === null ? null : takenUpWords(view);
  const reasons = takenUp(view);
  if (words === null) return null;
  if (reasons.length === 0) return <p className="text-ink-2">{words}</p>;
  return (
    <details className="max-w-prose">
      <summary className="min-h-11 cursor-pointer py-2.5 text-ink-2">{words}</summary>
      <ul className="space-y-3 pb-2">
        {reasons.map(({ seat, about, label, text }) => (
          <li key={`${seat} ${about}`} className="break-words">
            <span className="text-ink-2">{label}:</span> {text}
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
  const claims = changingClaims(council);
  const { classOf, button } = useSeeAll(claims.length, shownAtOnce);
  return (
    <>
      <ClaimsNote view={council} />
      <ul className="divide-y divide-line border-y border-line">
        {claims.map((claim, index) => (
          <li
            key={claim.id}
            className={classNames(
              'flex flex-col gap-3 py-4 sm:flex-row sm:items-center sm:justify-between sm:gap-6',
              classOf(index),
            )}
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
      {button}
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
