import { FileDown, Printer } from 'lucide-react';
import type { ReactNode } from 'react';
import type { Brief } from '#services/optimizations/contract/dashboard.ts';
import {
  briefFileName,
  briefMarkdown,
  totalSentences,
} from '#services/optimizations/reading/markdown/brief-markdown.ts';
import { daysInWords } from '#services/platform/locale.ts';
import { EmptyState } from '#web/ui/feedback/empty-state.tsx';
import { Button, LinkButton } from '#web/ui/form/button.tsx';
import { saveText } from '#web/ui/save-file.ts';
import { Decision } from './decision.tsx';

/** The decisions of 30 days on one page, for reading, printing and downloading. */
export function BriefPage({ brief }: { brief: Brief }): ReactNode {
  return (
    <div className="space-y-8">
      <div className="space-y-4">
        <div className="space-y-1">
          <p className="text-lg">{daysInWords(brief)}</p>
          <p className="text-ink-2">{totalSentences(brief).join(' ')}</p>
        </div>
        {brief.runs.length === 0 ? null : (
          <p className="flex flex-wrap gap-3 print:hidden">
            <Button
              onClick={() => saveText(briefFileName(brief), briefMarkdown(brief), 'text/markdown')}
            >
              <FileDown size={16} aria-hidden="true" />
              Download Markdown
            </Button>
            <Button onClick={() => print()}>
              <Printer size={16} aria-hidden="true" />
              Print or save as PDF
            </Button>
          </p>
        )}
      </div>
      {brief.runs.length === 0 ? (
        <EmptyState
          action={
            <LinkButton to="/optimization" tone="primary">
              New Optimization
            </LinkButton>
          }
        >
          Decisions of the last 30 days appear here: the vote, what the models agree on, what stays
          open, and your next steps.
        </EmptyState>
      ) : (
        <ol className="divide-y divide-line border-y border-line">
          {brief.runs.map((run) => (
            <li key={run.id} className="break-inside-avoid py-6">
              <Decision run={run} level={2} />
            </li>
          ))}
        </ol>
      )}
    </div>
  );
}
