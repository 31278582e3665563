import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { FileDown } from 'lucide-react';
import { type ReactNode, useEffect, useState } from 'react';
import { figure } from '#services/platform/numbers.ts';
import { creditLimits, type Transaction, TransactionType } from '#services/credits/contract.ts';
import { historyCsv } from '#services/credits/history-csv.ts';
import { problemSentence } from '#web/api/problem-words.ts';
import { QueryBlock } from '#web/api/query-block.tsx';
import { announce } from '#web/ui/feedback/announcer.tsx';
import { Button, LinkButton } from '#web/ui/form/button.tsx';
import { Card } from '#web/ui/card.tsx';
import { SelectField } from '#web/ui/form/field.tsx';
import { saveText } from '#web/ui/save-file.ts';
import { Skeleton } from '#web/ui/feedback/skeleton.tsx';
import { longMonth } from '#web/features/credits/consumption.ts';
import { filtered, foundSentence, monthsOf } from './history-filter.ts';
import { type HistoryLine, HistoryLines } from './history-lines.tsx';
import type { HistoryFilter } from './history-search.ts';
import { historyQuery } from '#web/features/credits/queries.ts';
import {
  statementMonthsQuery,
  statementQuery,
} from '#web/features/credits/statement/statement-queries.ts';
import { transactionWords } from './transaction-words.ts';
import { readWholeHistory } from './whole-history.ts';

type Props = {
  filter: HistoryFilter;
  onFilter: (filter: HistoryFilter) => void;
  receiptOf: (line: Transaction) => string | null;
};

/**
 * The ledger, newest first. A month is read from its statement, which is complete. Without one only
 * the loaded lines are filtered, and the page says so.
 */
export function TransactionHistory({ filter, onFilter, receiptOf }: Props): ReactNode {
  const whole = useInfiniteQuery(historyQuery);
  const loaded = whole.data?.pages.flat() ?? [];
  const isThere = whole.data !== undefined;
  const isEmpty = isThere && loaded.length === 0;
  // A user who follows a link to it arrives before its lines are loaded.
  useEffect(() => {
    if (isThere && location.hash === '#history')
      document.getElementById('history')?.scrollIntoView();
  }, [isThere]);
  return (
    <Card aria-labelledby="history" className="space-y-4">
      <div className="flex flex-wrap items-center justify-between gap-x-6 gap-y-2">
        <h2 id="history" className="text-2xl">
          Transaction History
        </h2>
        {isEmpty ? null : (
          <Link to="/credits/statements" className="link inline-flex min-h-11 items-center">
            Monthly statements
          </Link>
        )}
      </div>
      {isEmpty ? (
        <NoTransactions />
      ) : (
        <>
          <p className="text-sm text-ink-2">
            Balances include reserved credits, minus anything you owe.
          </p>
          <Filters filter={filter} onFilter={onFilter} loaded={loaded} />
          {filter.month === undefined ? (
            <Newest filter={filter} receiptOf={receiptOf} />
          ) : (
            <OfMonth month={filter.month} filter={filter} receiptOf={receiptOf} />
          )}
        </>
      )}
    </Card>
  );
}

function NoTransactions(): ReactNode {
  return (
    <div className="space-y-4">
      <p className="font-semibold">No transactions yet</p>
      <p className="text-ink-2">Every credit you receive, use, or get back will be listed here.</p>
      <LinkButton to="/credits/purchase" tone="primary">
        Purchase Your First Credits
      </LinkButton>
    </div>
  );
}

function Filters({
  filter,
  onFilter,
  loaded,
}: Pick<Props, 'filter' | 'onFilter'> & { loaded: readonly Transaction[] }): ReactNode {
  const known = useQuery(statementMonthsQuery);
  const months = known.data ?? monthsOf(loaded);
  const offered =
    filter.month === undefined || months.includes(filter.month)
      ? months
      : [filter.month, ...months].toSorted().toReversed();
  return (
    <div className="grid grid-cols-1 gap-4 sm:grid-cols-2">
      <SelectField
        label="Type"
        name="type"
        value={filter.type ?? ''}
        onChange={({ target }) =>
          onFilter({
            ...filter,
            type: TransactionType.options.find((type) => type === target.value),
          })
        }
      >
        <option value="">All types</option>
        {TransactionType.options.map((type) => (
          <option key={type} value={type}>
            {transactionWords[type]}
          </option>
        ))}
      </SelectField>
      <SelectField
        label="Month"
        name="month"
        value={filter.month ?? ''}
        onChange={({ target }) => onFilter({ ...filter, month: target.value || undefined })}
      >
        <option value="">All months</option>
        {offered.map((month) => (
          <option key={month} value={month}>
            {longMonth(month)}
          </option>
        ))}
      </SelectField>
    </div>
  );
}

type PartProps = Pick<Props, 'filter' | 'receiptOf'>;

/** Lines from the newest on, as far as loaded. */
function Newest({ filter, receiptOf }: PartProps): ReactNode {
  const whole = useInfiniteQuery(historyQuery);
  const moreFailed = whole.isFetchNextPageError
    ? `We couldn't load older transactions. ${problemSentence(whole.error)}`
    : null;
  return (
    <QueryBlock
      answer={whole}
      label="Loading transactions"
      failure="Failed to load transactions"
      skeleton={<Skeleton className="h-96" />}
    >
      {({ pages }) => {
        const lines = pages.flat();
        return (
          <>
            <Found
              filter={filter}
              lines={lines.map((line) => ({ ...line, receipt: receiptOf(line) }))}
              isAll={!whole.hasNextPage}
            />
            {moreFailed === null ? null : <p className="text-bad">{moreFailed}</p>}
            <div className="flex flex-wrap gap-3">
              {whole.hasNextPage ? (
                <Button onClick={() => void whole.fetchNextPage()} busy={whole.isFetchingNextPage}>
                  {whole.isFetchingNextPage ? 'Loading…' : 'Load more'}
                  <span className="sr-only"> transactions</span>
                </Button>
              ) : null}
              <Download
                filter={filter}
                read={async () => (whole.hasNextPage ? readWholeHistory() : lines)}
              />
            </div>
          </>
        );
      }}
    </QueryBlock>
  );
}

/** All lines of one month. */
function OfMonth({ month, filter, receiptOf }: PartProps & { month: string }): ReactNode {
  const statement = useQuery(statementQuery(month));
  return (
    <QueryBlock
      answer={statement}
      label={`Loading transactions of ${longMonth(month)}`}
      failure={`We couldn't load transactions for ${longMonth(month)}`}
      skeleton={<Skeleton className="h-96" />}
    >
      {({ lines }) => (
        <>
          <Found
            filter={filter}
            lines={lines.toReversed().map((line) => ({
              ...line,
              receipt: line.payment?.receipt_url ?? receiptOf(line),
            }))}
            isAll
          />
          <div className="flex flex-wrap gap-3">
            <Download filter={filter} read={async () => lines.toReversed()} />
            <LinkButton to="/credits/statements/$month" params={{ month }}>
              Statement of {longMonth(month)}
            </LinkButton>
          </div>
        </>
      )}
    </QueryBlock>
  );
}

function Found({
  filter,
  lines,
  isAll,
}: {
  filter: HistoryFilter;
  lines: readonly HistoryLine[];
  isAll: boolean;
}): ReactNode {
  const shown = filtered(lines, filter.type);
  const sentence = foundSentence(filter, { shown: shown.length, searched: lines.length, isAll });
  useEffect(() => {
    if (sentence !== null) announce(sentence);
  }, [sentence]);
  return (
    <>
      {sentence === null ? null : <p className="text-ink-2">{sentence}</p>}
      {shown.length === 0 ? null : <HistoryLines lines={shown} />}
    </>
  );
}

/** Downloads all lines that match the filter. */
function Download({
  filter: { type, month },
  read,
}: {
  filter: HistoryFilter;
  read: () => Promise<readonly Transaction[]>;
}): ReactNode {
  const [state, setState] = useState<'idle' | 'busy' | 'cut' | { failure: unknown }>('idle');
  const download = async (): Promise<void> => {
    setState('busy');
    try {
      const lines = await read();
      const name = ['sevenfold-transactions', month, type].filter(Boolean).join('-');
      saveText(`${name}.csv`, historyCsv(filtered(lines, type)), 'text/csv');
      setState(lines.length >= creditLimits.historyFile ? 'cut' : 'idle');
    } catch (failure) {
      setState({ failure });
    }
  };
  const note =
    state === 'cut'
      ? `The file has your newest ${figure(creditLimits.historyFile)} lines. For older months, download a statement.`
      : typeof state === 'object'
        ? `We couldn't create the file. ${problemSentence(state.failure)}`
        : null;
  useEffect(() => {
    if (note !== null) announce(note);
  }, [note]);
  return (
    <>
      <Button onClick={() => void download()} busy={state === 'busy'}>
        <FileDown size={16} aria-hidden="true" />
        {state === 'busy' ? 'Preparing…' : 'Download CSV'}
      </Button>
      {note === null ? null : (
        <p className={typeof state === 'object' ? 'w-full text-bad' : 'w-full text-ink-2'}>
          {note}
        </p>
      )}
    </>
  );
}
