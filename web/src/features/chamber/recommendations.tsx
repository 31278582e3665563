import { type ReactNode, useEffect, useRef } from 'react';
import type { RunResult } from '#services/optimizations/contract/result.ts';
import type { RunView } from '#services/optimizations/reading/view.ts';
import { sameFields, useRunPart } from '#web/live/live.ts';
import type { RunState } from '#web/live/run-state.ts';
import { RequestRefinement } from '#web/run/refinement/request.tsx';
import { Panel } from './panel.tsx';

/** The recommendation while it is written: plain text in a frame of fixed height. */
export function Recommendations({ runId }: { runId: string }): ReactNode {
  const draft = useRunPart(runId, draftOf, sameFields);
  return (
    <Panel title="Emerging Recommendations" aside={<RequestRefinement runId={runId} />}>
      <p className="text-sm text-ink-2">{draft.note}</p>
      {draft.text === '' ? null : <Writing text={draft.text} writing={draft.writing} />}
    </Panel>
  );
}

/**
 * Follows the end of the text while it is written, unless the reader has scrolled back. A finished
 * text starts at its beginning.
 */
function Writing({ text, writing }: { text: string; writing: boolean }): ReactNode {
  const frame = useRef<HTMLDivElement>(null);
  const follows = useRef(true);
  useEffect(() => {
    const element = frame.current;
    if (!element || !follows.current) return;
    element.scrollTop = writing ? element.scrollHeight : 0;
    follows.current = writing;
  });
  return (
    <section
      ref={frame}
      aria-label="The recommendation as it is written"
      // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a scrolling region must be reachable by keyboard
      tabIndex={0}
      onScroll={({ currentTarget: { scrollHeight, scrollTop, clientHeight } }) => {
        follows.current = writing && scrollHeight - scrollTop - clientHeight < 24;
      }}
      className="mt-3 h-64 overflow-y-auto xl:h-128 rounded-control bg-sunken p-3 text-sm whitespace-pre-wrap"
    >
      {text}
    </section>
  );
}

type DraftView = { note: string; text: string; writing: boolean };

function draftOf({ view, texts }: RunState): DraftView {
  const numbers = Object.keys(view.calls)
    .map((slot) => Number(/^draft\.(\d+)$/.exec(slot)?.[1] ?? 0))
    .filter((number) => number > 0);
  const latest = Math.max(0, ...numbers);
  const draft = view.calls[`draft.${latest}`]?.draft;
  const live = texts[`draft.${latest}`];
  return {
    note: noteOf(view, latest),
    writing: view.stage === 'synthesis' && !draft,
    text: draft
      ? [
          draft.decision,
          ...draft.sections.flatMap(({ heading, blocks }) => [
            heading,
            ...blocks.map((block) => block.text),
          ]),
        ].join('\n\n')
      : (live?.text ?? ''),
  };
}

const endNotes: Readonly<Record<RunResult['heading'], string>> = {
  recommendation: 'This is the final recommendation.',
  no_majority: 'No option has a majority. The result compares them.',
  undecidable: "Most models say it can't be decided yet. The result lists what is missing.",
  best_single_answer:
    'No recommendation passed its checks, so the result shows the best single answer.',
};

function noteOf(view: RunView, round: number): string {
  const verdict = view.rounds[round]?.verdict ?? null;
  if (view.stage === 'closed' || view.stage === 'settling') {
    const heading = view.conclusion?.heading ?? null;
    return heading === null
      ? 'The run ended before a recommendation was written.'
      : endNotes[heading];
  }
  if (view.stage !== 'synthesis')
    return view.refines === null
      ? 'Written once the answers have been compared.'
      : 'Written again once the models have voted.';
  if (round > 1 && verdict === null)
    return `Attempt ${round}. The last one didn't pass its checks.`;
  if (view.calls[`draft.${round}`]?.outcome) return 'Written. Two other models are checking it.';
  return 'Writing, claim by claim.';
}
