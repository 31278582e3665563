import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import { FileButton } from '#web/api/file-button.tsx';
import { readFile } from '#web/api/files.ts';
import { Part } from '#web/features/result/section.tsx';
import { saveFile } from '#web/ui/save-file.ts';

/** The run as a file that is recomputed without our database. */
export function Evidence({ run }: { run: Pick<Optimization, 'id'> }): ReactNode {
  return (
    <div className="print:hidden">
      <Part title="Evidence">
        <p className="max-w-prose text-ink-2">
          One file with every event, vote, price and prompt of this run. Anyone who has it can read
          your question and every answer. With a copy of this software they can also recompute every
          number. Once a day all runs are combined into one number, the root. To check this run
          against it, download the file again a day after the run ended.{' '}
          <Link to="/method" className="link">
            How a run is checked
          </Link>
        </p>
        <div className="flex flex-wrap gap-2">
          <FileButton save={async () => saveEvidence(run.id)}>Download evidence</FileButton>
        </div>
      </Part>
    </div>
  );
}

async function saveEvidence(id: string): Promise<null> {
  const path = `/optimizations/${encodeURIComponent(id)}/evidence` as const;
  saveFile(`sevenfold-${id}.evidence.ndjson`, await readFile(path, 'application/x-ndjson'));
  return null;
}
