import { BookmarkPlus, Copy, CopyPlus, FileDown, Printer, RefreshCw } from 'lucide-react';
import { type ReactNode, useId, useState } from 'react';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import { runMarkdown } from '#services/optimizations/reading/markdown/run-markdown.ts';
import { announce } from '#web/ui/feedback/announcer.tsx';
import { Button, LinkButton } from '#web/ui/form/button.tsx';
import { saveText } from '#web/ui/save-file.ts';

export function Tools({ run, onRefine }: { run: Optimization; onRefine: () => void }): ReactNode {
  return (
    <div className="flex flex-wrap gap-2 pt-4 print:hidden">
      <Refine run={run} onRefine={onRefine} />
      <Files run={run} />
      <LinkButton to="/optimization" search={{ from: run.id }}>
        <CopyPlus size={16} aria-hidden="true" />
        Duplicate
      </LinkButton>
      <LinkButton to="/recipes/new" search={{ run: run.id }}>
        <BookmarkPlus size={16} aria-hidden="true" />
        Save as recipe
      </LinkButton>
    </div>
  );
}

/** The run to take along. */
export function Files({ run }: { run: Optimization }): ReactNode {
  const [copied, setCopied] = useState<'yes' | 'no' | null>(null);
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(runMarkdown(run));
      setCopied('yes');
      announce('Copied as Markdown');
    } catch {
      // The browser refused, usually because the page is not on a secure address.
      setCopied('no');
      announce('The browser did not allow copying', 'assertive');
    }
  };
  return (
    <>
      <Button onClick={() => void copy()}>
        <Copy size={16} aria-hidden="true" />
        {copied === 'yes' ? 'Copied' : 'Copy as Markdown'}
      </Button>
      <Button onClick={() => saveText(`${run.id}.md`, runMarkdown(run), 'text/markdown')}>
        <FileDown size={16} aria-hidden="true" />
        Markdown
      </Button>
      <Button
        onClick={() => saveText(`${run.id}.json`, JSON.stringify(run, null, 2), 'application/json')}
      >
        <FileDown size={16} aria-hidden="true" />
        JSON
      </Button>
      <Button onClick={printAll}>
        <Printer size={16} aria-hidden="true" />
        Print
      </Button>
      {copied === 'no' ? (
        <p className="self-center text-sm text-bad">
          The browser did not allow copying. Download the Markdown instead.
        </p>
      ) : null}
    </>
  );
}

/** Why a result can't be refined stands beside the button that it disables. */
function Refine({
  run: { refinable },
  onRefine,
}: {
  run: Optimization;
  onRefine: () => void;
}): ReactNode {
  const reasonId = useId();
  const reason = refinable?.reason ?? null;
  return (
    <>
      {reason === null ? null : (
        <p id={reasonId} className="w-full max-w-prose text-sm text-ink-2">
          {reason}
        </p>
      )}
      <Button
        disabled={refinable?.allowed !== true}
        aria-describedby={reason === null ? undefined : reasonId}
        onClick={onRefine}
      >
        <RefreshCw size={16} aria-hidden="true" />
        Request Refinement
      </Button>
    </>
  );
}

/** Details cannot be opened on paper: every answer is printed in full. */
function printAll(): void {
  for (const answer of document.querySelectorAll<HTMLDetailsElement>('main details'))
    answer.open = true;
  print();
}
