import type { ReactNode } from 'react';
import { figure } from '#services/platform/numbers.ts';
import { erased } from '#services/optimizations/reading/texts.ts';
import { type RunView } from '#services/optimizations/reading/view.ts';

/** Longer or renamed questions show their title as the heading, and their text below. */
const headingCharacters = 200;

export function Question({ view }: { view: RunView }): ReactNode {
  const challenge = view.challenge ?? erased;
  const isHeading = challenge.length <= headingCharacters && !isRenamed(view);
  const more =
    !isHeading ||
    view.context ||
    view.objectives.length + view.constraints.length + view.files.length > 0;
  return (
    <div className="min-w-0 space-y-1">
      <h1 className="max-w-[58rem] text-4xl break-words">
        {isHeading ? challenge : (view.title ?? erased)}
      </h1>
      {more ? (
        <details className="max-w-prose print:hidden">
          <summary className="-mb-2 min-h-11 cursor-pointer py-2.5 text-ink-2">
            {askedTitle(view)}
          </summary>
          <div className="space-y-3 pt-2 pb-4">
            {isHeading ? null : <p className="whitespace-pre-wrap">{challenge}</p>}
            <Asked view={view} />
            <Files files={view.files} />
          </div>
        </details>
      ) : null}
    </div>
  );
}

export function askedTitle({ shared }: Pick<RunView, 'shared'>): string {
  return shared ? 'The question' : 'Your question';
}

/** What was asked beside the challenge, without its files. */
export function Asked({ view }: { view: RunView }): ReactNode {
  return (
    <>
      {view.context ? <p className="whitespace-pre-wrap">{view.context}</p> : null}
      <Rows title="Objectives" rows={view.objectives} />
      <Rows title="Constraints" rows={view.constraints} />
    </>
  );
}

/** A run's first title is the start of its question; any other was chosen by the user. */
function isRenamed({ title, challenge }: RunView): boolean {
  const began = title?.replace(/…$/, '') ?? '';
  return !challenge?.replace(/\s+/g, ' ').trim().startsWith(began);
}

/** Their texts are long, so each opens on its own. */
function Files({ files }: { files: RunView['files'] }): ReactNode {
  if (files.length === 0) return null;
  return (
    <div>
      <p className="font-semibold">Files</p>
      {files.map(({ name, text }, index) => (
        // Two files may have one name.
        <details key={index}>
          <summary className="min-h-11 cursor-pointer py-2.5 break-words text-ink-2">
            {name}, {figure(text.length)} characters
          </summary>
          <section
            // It scrolls, so the keyboard must reach it.
            // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
            tabIndex={0}
            aria-label={`Text of ${name}`}
            className="max-h-96 overflow-y-auto rounded-control bg-sunken p-3 text-sm break-words whitespace-pre-wrap"
          >
            {text}
          </section>
        </details>
      ))}
    </div>
  );
}

function Rows({ title, rows }: { title: string; rows: readonly string[] }): ReactNode {
  if (rows.length === 0) return null;
  return (
    <div>
      <p className="font-semibold">{title}</p>
      <ul className="list-disc ps-5">
        {rows.map((row) => (
          <li key={row}>{row}</li>
        ))}
      </ul>
    </div>
  );
}
