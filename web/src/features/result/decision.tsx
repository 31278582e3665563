import { Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import type { BiasAnalysis, RunResult } from '#services/optimizations/contract/result.ts';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import {
  headingWords,
  isAdvice,
  missingTitle,
  outcomeSentences,
  saysMore,
  tieBreakNote,
  tieBreakOption,
  winnerWords,
} from '#services/optimizations/reading/words/result.ts';
import {
  headObjection,
  objectionTitle,
  objectionWords,
} from '#services/optimizations/reading/words/doubts.ts';
import { comparisonsTitle } from '#services/optimizations/reading/words/order.ts';
import type { RunView } from '#services/optimizations/reading/view.ts';
import { BandFigures } from '#web/features/result/behind/band-figures.tsx';
import { Computed, computedTitle } from '#web/features/result/behind/computed.tsx';
import { comparisonsAnchor } from '#web/features/result/behind/order.tsx';
import { classNames } from '#web/ui/class-names.ts';
import { datedHeading, isOutdated } from '#services/optimizations/reading/words/refinement.ts';
import { Button } from '#web/ui/form/button.tsx';
import { Ring } from '#web/ui/ring.tsx';

/** What came out, how sure the models are of it, and the best argument against it. */
export function Outcome({
  run,
  result,
  tools,
  onMissing,
}: {
  run: Optimization;
  result: RunResult;
  tools: ReactNode;
  /** Null while the result cannot be refined. */
  onMissing: ((fact: string) => void) | null;
}): ReactNode {
  const { bias } = run.evolution;
  const isOld = isOutdated(run);
  return (
    <div className="grid grid-cols-1 gap-8 lg:grid-cols-[minmax(0,1fr)_16rem] print:grid-cols-[minmax(0,1fr)_11rem]">
      <section aria-labelledby="outcome" className="space-y-3">
        <h2 id="outcome" className={isAdvice(result) || isOld ? 'text-xl text-ink-2' : 'text-3xl'}>
          {datedHeading(run, headingWords(result))}
        </h2>
        {isAdvice(result) ? <Sentence text={result.decision} isOld={isOld} /> : null}
        {outcomeSentences(run, result).map((sentence) => (
          <p key={sentence} className="max-w-prose text-ink-2">
            {sentence}
          </p>
        ))}
        <Missing facts={result.missing_facts} onAdd={onMissing} />
        {saysMore(result) ? (
          <p className="max-w-prose text-lg font-medium">{result.decision}</p>
        ) : null}
        <Objection run={run} result={result} />
      </section>
      {bias === null ? null : <Agreement bias={bias} view={run.council} />}
      <div className="col-span-full flex flex-wrap gap-2 print:hidden">{tools}</div>
    </div>
  );
}

/** What a newer answer has changed is no longer the largest text of the page. */
function Sentence({ text, isOld = false }: { text: string; isOld?: boolean }): ReactNode {
  return (
    <p className={classNames('max-w-prose font-serif', isOld ? 'text-xl text-ink-2' : 'text-3xl')}>
      {text}
    </p>
  );
}

/** The option to take where none is recommended, named as what it is. */
export function TieBreak({ run, result }: { run: Optimization; result: RunResult }): ReactNode {
  const option = tieBreakOption(result);
  return (
    <div className="space-y-3">
      <Sentence text={result.decision} />
      {option === result.decision ? null : (
        <p className="max-w-prose text-ink-2">The option: {option}</p>
      )}
      <p className="max-w-prose text-ink-2">{tieBreakNote(run.council, result)}</p>
    </div>
  );
}

function Missing({
  facts,
  onAdd,
}: {
  facts: readonly string[];
  onAdd: ((fact: string) => void) | null;
}): ReactNode {
  if (facts.length === 0) return null;
  return (
    <div className="space-y-1">
      <h3 className="text-lg font-semibold">{missingTitle}</h3>
      <ul className="max-w-prose divide-y divide-line border-y border-line">
        {facts.map((fact) => (
          <li
            key={fact}
            className="flex flex-col gap-2 py-3 sm:flex-row sm:items-center sm:justify-between sm:gap-6"
          >
            <span className="min-w-0 break-words">{fact}</span>
            {onAdd === null ? null : (
              <Button className="shrink-0 print:hidden" onClick={() => onAdd(fact)}>
                Add this fact<span className="sr-only">: {fact}</span>
              </Button>
            )}
          </li>
        ))}
      </ul>
    </div>
  );
}

function Objection({ run, result }: { run: Optimization; result: RunResult }): ReactNode {
  const objection = headObjection(result);
  if (objection === null) return null;
  return (
    <p className="max-w-prose border-s-2 border-line-strong ps-3">
      <span className="font-semibold">
        {objectionTitle(run.models, result.heading, objection)}:
      </span>{' '}
      {objectionWords(run.council, objection)}
    </p>
  );
}

function Agreement({ bias, view }: { bias: BiasAnalysis; view: RunView }): ReactNode {
  const { agreement_score: score, agreement_note: note } = bias;
  const [isOpen, setOpen] = useState(false);
  return (
    <section aria-labelledby="agreement" className="space-y-3">
      <h2 id="agreement" className="text-center text-xl text-ink-2">
        Agreement
      </h2>
      <Ring score={score} {...(note === null ? {} : { note })} />
      <p className="text-center text-sm text-ink-2">{winnerWords(view)}</p>
      <details
        className="text-sm text-ink-2 print:hidden"
        onToggle={({ currentTarget }) => setOpen(currentTarget.open)}
      >
        <summary className="min-h-6 cursor-pointer text-center">{computedTitle}</summary>
        <div className="space-y-2 pt-2">
          <Computed bias={bias} view={view} />
          {isOpen ? <BandFigures band={bias.agreement_band ?? 'none'} /> : null}
          <p>
            <a href={`#${comparisonsAnchor}`} className="link">
              {comparisonsTitle}
            </a>
          </p>
          <p>
            <Link to="/method" className="link">
              Every figure, and how to redo it
            </Link>
          </p>
        </div>
      </details>
    </section>
  );
}
