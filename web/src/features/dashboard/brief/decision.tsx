import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { settledTitle } from '#services/optimizations/reading/words/doubts.ts';
import type { BriefRun } from '#services/optimizations/contract/dashboard.ts';
import {
  consensusTitle,
  factsOf,
  moreWords,
  openTitle,
  stepsTitle,
} from '#services/optimizations/reading/markdown/brief-markdown.ts';

/** One decision: vote, agreement, the sentence to act on, and what is agreed, open and to do. */
export function Decision({
  run,
  level,
  short = false,
}: {
  run: BriefRun;
  /** Of its heading. */
  level: 2 | 3;
  /** Without what would settle a disagreement, and without the steps. */
  short?: boolean;
}): ReactNode {
  const Title = level === 2 ? 'h2' : 'h3';
  const Part = level === 2 ? 'h3' : 'h4';
  const list = (title: string, more: string | null, lines: readonly ReactNode[]): ReactNode =>
    lines.length === 0 ? null : (
      <div className="space-y-1">
        <Part className="text-base font-semibold">{title}</Part>
        <ul className="list-disc space-y-1 ps-5 text-ink-2">
          {lines.map((line, index) => (
            // The lines have no ids, and their order never changes.
            <li key={index}>{line}</li>
          ))}
          {more === null ? null : <li className="text-ink-3">{more}</li>}
        </ul>
      </div>
    );
  return (
    <div className="max-w-prose min-w-0 space-y-3 break-words">
      <div className="space-y-1">
        <Title className="text-xl">{run.title}</Title>
        <p className="text-sm text-ink-2">{factsOf(run).join(' · ')}</p>
      </div>
      <p className="font-medium">{run.decision}</p>
      {list(consensusTitle, moreWords(run.consensus_total, run.consensus.length), run.consensus)}
      {list(
        openTitle,
        moreWords(run.open_total, run.open.length),
        run.open.map(({ text, settled_by: settled }) => (
          <>
            {text}
            {short || settled === null ? null : (
              <span className="block text-sm">
                {settledTitle}: {settled}
              </span>
            )}
          </>
        )),
      )}
      {short
        ? null
        : list(
            stepsTitle,
            null,
            run.next_steps.map(({ action, facts }) => (
              <>
                {action}
                {facts.length === 0 ? null : (
                  <span className="block text-sm">
                    {facts.map(({ label, text }) => `${label}: ${text}`).join(' · ')}
                  </span>
                )}
              </>
            )),
          )}
      <p className="print:hidden">
        <Link
          to="/optimizations/$id"
          params={{ id: run.id }}
          className="link inline-flex min-h-11 items-center"
        >
          View Results<span className="sr-only">: {run.title}</span>
        </Link>
      </p>
    </div>
  );
}
