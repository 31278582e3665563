import type { ReactNode } from 'react';
import type { Transaction } from '#services/credits/contract.ts';
import { credits } from '#services/platform/numbers.ts';
import { signedCredits } from '#web/ui/text/figures.ts';
import { OutsideLink } from '#web/ui/outside-link.tsx';
import { RelativeTime } from '#web/ui/text/relative-time.tsx';
import { LineLink } from './line-link.tsx';
import { lineWords } from './transaction-words.ts';

/** A line of the ledger with the receipt of its purchase, if there is one. */
export type HistoryLine = Transaction & { readonly receipt: string | null };

/** Lines of the ledger, each with its sign, its word and its link. */
export function HistoryLines({ lines }: { lines: readonly HistoryLine[] }): ReactNode {
  return (
    <ol className="divide-y divide-line border-y border-line">
      {lines.map((line) => (
        <Line key={line.id} line={line} />
      ))}
    </ol>
  );
}

function Line({ line }: { line: HistoryLine }): ReactNode {
  const { amount, receipt } = line;
  const { word, note } = lineWords(line);
  return (
    <li className="flex items-start justify-between gap-4 py-3">
      <div className="min-w-0">
        <p>
          <LineLink line={line} />
        </p>
        <p className="flex flex-wrap items-center gap-x-2 text-sm text-ink-2">
          <span>
            {word} · <RelativeTime at={line.created_at} />
          </span>
          {receipt === null ? null : (
            <OutsideLink href={receipt}>
              Receipt<span className="sr-only"> of {line.description}</span>
            </OutsideLink>
          )}
        </p>
        {note === null ? null : <p className="text-sm text-ink-2">{note}</p>}
      </div>
      <p className="shrink-0 text-end">
        <span className={amount > 0 ? 'font-semibold text-ok' : 'font-semibold'}>
          {signedCredits(amount)}
        </span>
        <span className="block text-sm text-ink-3">balance {credits(line.balance_after)}</span>
      </p>
    </li>
  );
}
