import { Link } from '@tanstack/react-router';
import { Fragment, type ReactNode } from 'react';
import type { Statement } from '#services/payments/contract.ts';
import { productName } from '#web/app/product.ts';
import { Card } from '#web/ui/card.tsx';
import { day } from '#web/ui/text/day.ts';
import { credits, creditsInWords } from '#services/platform/numbers.ts';
import { money, signedCredits } from '#web/ui/text/figures.ts';
import { Notice } from '#web/ui/feedback/notice.tsx';
import { OutsideLink } from '#web/ui/outside-link.tsx';
import { Tile } from '#web/ui/tile.tsx';
import { longMonth, shortDay } from '#web/features/credits/consumption.ts';
import { LineLink } from '#web/features/credits/history/line-link.tsx';
import { lineWords, purchaseAnchor } from '#web/features/credits/history/transaction-words.ts';

/**
 * One month of the ledger: opening balance, every line, closing balance. In print it is a document
 * of its own that names its owner.
 */
export function MonthlyStatement({
  statement,
  readAt,
}: {
  statement: Statement;
  /** ISO 8601, by the server's clock. */
  readAt: string;
}): ReactNode {
  const { month, is_running: isRunning, totals, lines } = statement;
  return (
    <div className="space-y-6">
      <div className="flex flex-wrap justify-between gap-x-6 gap-y-1">
        <p>
          <span className="block font-medium">{statement.name}</span>
          <span className="block text-ink-2 wrap-anywhere">{statement.email}</span>
        </p>
        <p className="hidden text-end print:block">
          <span className="block font-medium">{productName}</span>
          <span className="block">Credit statement, {longMonth(month)}</span>
          <span className="block">As of {day(readAt)}</span>
        </p>
      </div>
      {isRunning ? (
        <Notice title="This month isn't over">
          New lines may still appear. The last balance is the current one.
        </Notice>
      ) : null}
      <Card aria-label="Summary" className="print:rounded-none print:border-x-0 print:px-0">
        <dl className="grid grid-cols-2 gap-4 sm:grid-cols-3 lg:grid-cols-6 print:grid-cols-6">
          <Tile label="Opening" value={credits(statement.opening_balance)} />
          <Tile label="Purchased" value={signedCredits(totals.purchased)} />
          <Tile label="Bonus" value={signedCredits(totals.bonus)} />
          <Tile
            label="Used"
            value={signedCredits(-totals.consumed)}
            detail="after returned credits"
          />
          <Tile label="Other" value={signedCredits(totals.other)} />
          <Tile label={isRunning ? 'Now' : 'Closing'} value={credits(statement.closing_balance)} />
        </dl>
      </Card>
      {lines.length === 0 ? (
        <p className="text-ink-2">
          No transactions in {longMonth(month)}. Your balance didn't change.
        </p>
      ) : (
        <Lines statement={statement} />
      )}
      <p className="text-sm text-ink-2">
        All amounts are credits. Dates are in UTC. Balances include reserved credits until their run
        ends, minus credits you owe.
      </p>
    </div>
  );
}

const closingWords = ({ is_running: isRunning }: Statement): string =>
  isRunning ? 'Balance now' : 'Closing balance';

const cell = 'py-3 align-top';
/** Phones show the day below the event, and the balance below the amount. */
const wide = 'max-sm:hidden';
const narrow = 'block text-sm text-ink-2 sm:hidden';

function Lines({ statement }: { statement: Statement }): ReactNode {
  const first = `${statement.month}-01T00:00:00.000Z`;
  return (
    <table className="w-full border-collapse border-y border-line text-start">
      <caption className="sr-only">Transactions of {longMonth(statement.month)}</caption>
      <thead>
        <tr className="text-sm text-ink-3">
          <th scope="col" className={`${cell} ${wide} pe-4 text-start font-medium`}>
            Date
          </th>
          <th scope="col" className={`${cell} text-start font-medium`}>
            Transaction
          </th>
          <th scope="col" className={`${cell} ps-4 text-end font-medium`}>
            Credits
          </th>
          <th scope="col" className={`${cell} ${wide} ps-4 text-end font-medium`}>
            Balance
          </th>
        </tr>
      </thead>
      <tbody>
        <BalanceRow on={shortDay(first)} balance={statement.opening_balance}>
          Opening balance
        </BalanceRow>
        {statement.lines.map((line) => (
          <LineRow key={line.id} line={line} />
        ))}
        <BalanceRow on="" balance={statement.closing_balance}>
          {closingWords(statement)}
        </BalanceRow>
      </tbody>
    </table>
  );
}

function BalanceRow({
  on,
  balance,
  children,
}: {
  on: string;
  balance: number;
  children: string;
}): ReactNode {
  return (
    <tr className="break-inside-avoid border-t border-line font-medium">
      <td className={`${cell} ${wide} pe-4 whitespace-nowrap`}>{on}</td>
      <td className={cell}>{children}</td>
      <td className={`${cell} ps-4 text-end`}>
        <span className="sm:hidden">{credits(balance)}</span>
      </td>
      <td className={`${cell} ${wide} ps-4 text-end`}>{credits(balance)}</td>
    </tr>
  );
}

type Line = Statement['lines'][number];

function LineRow({ line }: { line: Line }): ReactNode {
  const { word, note } = lineWords(line);
  const on = shortDay(line.created_at);
  return (
    <tr className="break-inside-avoid border-t border-line">
      <td className={`${cell} ${wide} pe-4 whitespace-nowrap`}>
        <time dateTime={line.created_at} title={line.created_at}>
          {on}
        </time>
      </td>
      <td className={`${cell} wrap-anywhere`}>
        <LineLink line={line} />
        <span className="block text-sm text-ink-2">
          {note === null ? word : `${word}. ${note}`}
        </span>
        <Payment line={line} />
        <Origins line={line} />
        <span className={narrow}>{on}</span>
      </td>
      <td className={`${cell} ps-4 text-end whitespace-nowrap`}>
        <span className="font-medium">{signedCredits(line.amount)}</span>
        <span className={narrow}>
          <span className="sr-only">balance </span>
          {credits(line.balance_after)}
        </span>
      </td>
      <td className={`${cell} ${wide} ps-4 text-end`}>{credits(line.balance_after)}</td>
    </tr>
  );
}

const origins: Readonly<Partial<Record<Line['reason_code'], string>>> = {
  run: 'Paid with',
  service: 'Paid with',
  run_return: 'Returned to',
};

/** The lots that paid for a run or a service, and their purchases. */
function Origins({ line: { reason_code: reason, lots } }: { line: Line }): ReactNode {
  const word = origins[reason];
  if (word === undefined || lots.length === 0) return null;
  return (
    <span className="block text-sm text-ink-2">
      {word}:{' '}
      {lots.map(({ lot_id: lotId, credits: amount, purchase_id: purchaseId, ...lot }, index) => (
        <Fragment key={lotId}>
          {index === 0 ? '' : ', '}
          {purchaseId === null ? (
            `${creditsInWords(amount)} not purchased`
          ) : (
            <Link to="/credits" hash={purchaseAnchor(purchaseId)} className="link">
              {creditsInWords(amount)} bought
            </Link>
          )}
          {lot.receipt_url === null ? null : (
            <>
              {' ('}
              <OutsideLink href={lot.receipt_url}>
                Receipt<span className="sr-only"> of these {creditsInWords(amount)}</span>
              </OutsideLink>
              )
            </>
          )}
        </Fragment>
      ))}
    </span>
  );
}

/** The money behind a line, and its receipt. */
function Payment({ line: { payment, description } }: { line: Line }): ReactNode {
  if (payment === null) return null;
  return (
    <span className="flex flex-wrap items-center gap-x-2 text-sm text-ink-2">
      <span>{money(payment.amount_cents, payment.currency)}</span>
      {payment.receipt_url === null ? null : (
        <OutsideLink href={payment.receipt_url}>
          Receipt<span className="sr-only"> of {description}</span>
        </OutsideLink>
      )}
    </span>
  );
}
