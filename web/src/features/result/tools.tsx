import { BookmarkPlus, Copy, CopyPlus, FileDown, Printer, RefreshCw } from 'lucide-react';
import { type ReactNode, useId } from 'react';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import { runMarkdown } from '#services/optimizations/reading/markdown/run-markdown.ts';
import { FileButton } from '#web/api/file-button.tsx';
import { readFile } from '#web/api/files.ts';
import { useCopy } from '#web/ui/feedback/use-copy.ts';
import { Button, LinkButton } from '#web/ui/form/button.tsx';
import { saveFile, saveText } from '#web/ui/save-file.ts';

export function Tools({ run, onRefine }: { run: Optimization; onRefine: () => void }): ReactNode {
  return (
    <div className="col-span-full flex flex-wrap gap-2 print:hidden">
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
  const { outcome, copy } = useCopy({ copied: 'Copied as Markdown', refused: notCopied });
  return (
    <>
      <Button onClick={() => void copy(runMarkdown(run))}>
        <Copy size={16} aria-hidden="true" />
        {outcome === 'copied' ? 'Copied' : 'Copy as Markdown'}
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
      {run.council.ledger === null ? null : (
        <FileButton save={async () => saveClaims(run.id)}>Claims as CSV</FileButton>
      )}
      <Button onClick={() => print()}>
        <Printer size={16} aria-hidden="true" />
        Print or save as PDF
      </Button>
      {outcome === 'refused' ? <p className="w-full text-sm text-bad">{notCopied}</p> : null}
    </>
  );
}

const notCopied = 'Your browser blocked copying. Download the Markdown instead.';

async function saveClaims(id: string): Promise<null> {
  const path = `/optimizations/${encodeURIComponent(id)}/claims` as const;
  saveFile(`${id}-claims.csv`, await readFile(path, 'text/csv', { query: { format: 'csv' } }));
  return null;
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
