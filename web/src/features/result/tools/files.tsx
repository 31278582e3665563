import { Copy, FileDown, Printer } from 'lucide-react';
import type { ReactNode } from 'react';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import { claimsCsv } from '#services/optimizations/reading/claims-csv.ts';
import { runMarkdown } from '#services/optimizations/reading/markdown/run-markdown.ts';
import { claimRows } from '#services/optimizations/reading/words/claims.ts';
import { FileButton } from '#web/api/file-button.tsx';
import { readFile } from '#web/api/files.ts';
import { useCopy } from '#web/ui/feedback/use-copy.ts';
import { Button } from '#web/ui/form/button.tsx';
import { saveFile, saveText } from '#web/ui/save-file.ts';

/** The run to take along. */
export function Files({
  run,
  json = run,
}: {
  run: Optimization;
  /** What the JSON file holds. */
  json?: object;
}): ReactNode {
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
        onClick={() =>
          saveText(`${run.id}.json`, JSON.stringify(json, null, 2), 'application/json')
        }
      >
        <FileDown size={16} aria-hidden="true" />
        JSON
      </Button>
      {run.council.ledger === null ? null : (
        <FileButton save={async () => saveClaims(run)}>Claims as CSV</FileButton>
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

/** The server writes the file; a reader of a share link, whom it would not answer, writes the same one. */
async function saveClaims({ id, council }: Optimization): Promise<null> {
  const name = `${id}-claims.csv`;
  if (council.shared) {
    saveText(name, claimsCsv(claimRows(council)), 'text/csv');
    return null;
  }
  const path = `/optimizations/${encodeURIComponent(id)}/claims` as const;
  saveFile(name, await readFile(path, 'text/csv', { query: { format: 'csv' } }));
  return null;
}
