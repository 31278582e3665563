import { Link } from '@tanstack/react-router';
import { type ReactNode, useEffect, useRef } from 'react';
import type { Outcome } from '#services/optimizations/contract/outcomes.ts';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import {
  outcomeQuestion,
  otherResultNote,
  outcomeWords,
  turnedOutTitle,
} from '#services/optimizations/reading/words/turned-out.ts';
import { reloadRun } from '#web/live/live.ts';
import { DisclosedForm } from '#web/run/outcomes/disclosed-form.tsx';
import { OutcomeForm } from '#web/run/outcomes/form.tsx';
import { day } from '#web/ui/text/day.ts';

export const turnedOutAnchor = 'outcome';

export const turnedOutTitleOf = ({ outcomes }: Optimization): string =>
  outcomes.length === 0 ? outcomeQuestion : turnedOutTitle;

/** What came of a result, and the question while it is open. */
export function TurnedOut({ run }: { run: Optimization }): ReactNode {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // An email leads here, before the page has drawn it.
    if (location.hash === `#${turnedOutAnchor}`) place.current?.parentElement?.scrollIntoView();
  }, []);
  const { outcome_question: question } = run;
  const saved = (): void => {
    void reloadRun(run.id);
    place.current?.focus();
  };
  return (
    <div ref={place} tabIndex={-1} className="space-y-6 outline-none">
      {run.outcomes.length === 0 ? null : (
        <ul className="space-y-4">
          {run.outcomes.map((outcome) => (
            <Said key={outcome.asked} run={run} outcome={outcome} onSaved={saved} />
          ))}
        </ul>
      )}
      {question === null ? null : (
        <div className="space-y-3 print:hidden">
          {run.outcomes.length === 0 ? null : (
            <h3 className="text-lg font-semibold">{outcomeQuestion}</h3>
          )}
          {run.newer === null ? null : <p>The question is about the newest result above.</p>}
          <OutcomeForm key={question.asked} runId={run.id} asked={question.asked} onSaved={saved} />
        </div>
      )}
    </div>
  );
}

function Said({
  run,
  outcome,
  onSaved,
}: {
  run: Optimization;
  outcome: Outcome;
  onSaved: () => void;
}): ReactNode {
  const { did, at, result_id: resultId } = outcome;
  return (
    <li className="max-w-prose space-y-2">
      <p>
        <span className="font-semibold">{outcomeWords(outcome)}</span>
        <span className="text-ink-3"> · {day(at)}</span>
      </p>
      {did === '' ? null : <p className="wrap-anywhere whitespace-pre-wrap">{did}</p>}
      {resultId === run.id ? null : (
        <p className="text-sm text-ink-2">
          {otherResultNote}{' '}
          <Link to="/optimizations/$id" params={{ id: resultId }} className="link">
            Read it
          </Link>
        </p>
      )}
      <div className="print:hidden">
        <DisclosedForm
          label="Change answer"
          about={`${outcome.asked} days`}
          runId={run.id}
          asked={outcome.asked}
          before={outcome}
          onSaved={onSaved}
        />
      </div>
    </li>
  );
}
