import type pg from 'pg';
import type { CashRefundRow } from '#projections/cash-refund.ts';
import { findPaidLot } from '#projections/paid-lot.ts';
import type { PaidLot } from '#projections/paid-lot.ts';
import { amountText, repairers, settleMs } from './difference.ts';
import type { Difference } from './difference.ts';
import { creditsFor } from '#services/payments/settle/granted-payment.ts';
import type { PaymentProvider, RefundView } from '#services/payments/provider.ts';
import { lotOfIntent, readClaims, readRefundRows } from './books.ts';
import type { Books } from './books.ts';

type Dependencies = { pool: pg.Pool; provider: PaymentProvider };

/**
 * Every succeeded refund of ours is one confirmed refund of the ledger with the same amount, and what a
 * bank gave back has taken as many credits as it paid for.
 */
export async function compareRefunds(
  dependencies: Dependencies,
  books: Books,
): Promise<Difference[]> {
  const { pool } = dependencies;
  const named = books.refunds.flatMap(({ refundId }) => refundId ?? []);
  const rows = await readRefundRows(pool, books.since, named);
  const known = new Map(rows.map((row) => [row.refundId, row]));
  const found: Difference[] = [];
  for (const refund of books.refunds) found.push(...compareShown(books, refund, known));
  found.push(...shownTwice(books));
  const shown = new Set(named);
  for (const row of rows)
    if (!shown.has(row.refundId)) found.push(...(await compareRow(dependencies, books, row)));
  found.push(...(await compareBankRefunds(dependencies, books, known)));
  return found;
}

const endOf = { succeeded: 'confirmed', failed: 'failed', pending: 'pending' } as const;

function compareShown(
  books: Books,
  refund: RefundView,
  known: ReadonlyMap<string, CashRefundRow>,
): Difference[] {
  if (refund.refundId === null) return [];
  const row = known.get(refund.refundId);
  const common = { object: refund.providerRefundId, userId: row?.userId ?? null };
  if (!row)
    return [
      {
        ...common,
        kind: 'refund-unknown',
        expected: `a refund ${refund.refundId} in the ledger`,
        found: `none, of ${amountText(refund.amountMinor, refund.currency)} that were refunded`,
        cause: 'it carries an id as ours do, and the ledger never asked for it',
        repairs: repairers.nobody,
        isSettling: false,
      },
    ];
  const differences: Difference[] = [];
  if (row.amountMinor !== refund.amountMinor || row.currency !== refund.currency)
    differences.push({
      ...common,
      kind: 'refund-amount',
      expected: `${amountText(row.amountMinor, row.currency)}, as the ledger asked for`,
      found: amountText(refund.amountMinor, refund.currency),
      cause: 'the provider gave back another amount than was asked for',
      repairs: repairers.nobody,
      isSettling: false,
    });
  const expected = endOf[refund.status];
  if (row.status === expected) return differences;
  const isOpen = row.status === 'pending';
  return [
    ...differences,
    {
      ...common,
      kind: isOpen ? 'refund-not-booked' : 'refund-contradicts',
      expected: `${expected}, as the provider shows it`,
      found: `${row.status} in the ledger`,
      cause: isOpen
        ? 'the delivery of its end was lost or is still on its way'
        : 'it ended in another way than was told before, and the delivery of that was lost',
      repairs: isOpen ? repairers.refunds : repairers.reading,
      isSettling: isYoung(books, refund.createdAt),
    },
  ];
}

function shownTwice({ refunds }: Books): Difference[] {
  const first = new Map<string, RefundView>();
  return refunds.flatMap((refund): Difference[] => {
    if (refund.refundId === null || refund.status === 'failed') return [];
    const before = first.get(refund.refundId);
    first.set(refund.refundId, before ?? refund);
    if (before === undefined) return [];
    return [
      {
        kind: 'refund-twice',
        object: refund.providerRefundId,
        userId: null,
        expected: `one refund ${refund.refundId}`,
        found: `another one, ${before.providerRefundId}`,
        cause: 'one refund was sent twice',
        repairs: repairers.nobody,
        isSettling: false,
      },
    ];
  });
}

/** One of ours that the provider's window does not show. */
async function compareRow(
  { pool, provider }: Dependencies,
  books: Books,
  row: CashRefundRow,
): Promise<Difference[]> {
  const lot = await findPaidLot(pool, { lotId: row.lotId });
  const shown = await findShown(provider, row, lot);
  if (shown !== null)
    return compareShown(
      books,
      { ...shown, refundId: row.refundId },
      new Map([[row.refundId, row]]),
    );
  // The provider refused it, and the credits were given back.
  if (row.status === 'failed') return [];
  const isPending = row.status === 'pending';
  return [
    {
      kind: isPending ? 'refund-not-sent' : 'refund-only-here',
      object: row.refundId,
      userId: row.userId,
      expected: `a refund of ${amountText(row.amountMinor, row.currency)} at the provider`,
      found: 'none',
      cause: isPending
        ? 'its job was lost, or the provider refuses it for now'
        : 'the ledger has it as paid, and the provider knows nothing of it',
      repairs: isPending ? repairers.refunds : repairers.nobody,
      isSettling: isPending && isYoung(books, Date.parse(row.requestedAt)),
    },
  ];
}

async function findShown(
  provider: PaymentProvider,
  row: CashRefundRow,
  lot: PaidLot | null,
): Promise<RefundView | null> {
  if (row.providerRefundId !== null) return provider.retrieveRefund(row.providerRefundId);
  const intentId = lot === null ? null : await intentOf(provider, lot);
  if (intentId === null) return null;
  const refunds = await provider.listRefunds(intentId);
  return refunds.find(({ refundId }) => refundId === row.refundId) ?? null;
}

/** By which the provider knows the payment of a lot. */
export async function intentOf(provider: PaymentProvider, lot: PaidLot): Promise<string | null> {
  const [kind, id = ''] = lot.paymentKey.split(':');
  return kind === 'pi' ? id : ((await provider.retrieveInvoice(id))?.intentId ?? null);
}

// --- refunds that the bank made, or somebody at the provider's own pages ---

async function compareBankRefunds(
  dependencies: Dependencies,
  books: Books,
  known: ReadonlyMap<string, CashRefundRow>,
): Promise<Difference[]> {
  const lots = new Map<string, { lot: PaidLot; intentId: string }>();
  for (const { refundId, intentId } of books.refunds) {
    const isOurs = refundId !== null && known.has(refundId);
    const lot = isOurs ? null : lotOfIntent(books, intentId);
    if (lot !== null && intentId !== null) lots.set(lot.lotId, { lot, intentId });
  }
  // The other way: what a clawback has taken must have been given back.
  for (const { lotId, ref } of await readClaims(dependencies.pool, books.since)) {
    if (!/^(ch|py)_/.test(ref) || lots.has(lotId)) continue;
    const lot = await findPaidLot(dependencies.pool, { lotId });
    const intentId = lot === null ? null : await intentOf(dependencies.provider, lot);
    if (lot !== null && intentId !== null) lots.set(lotId, { lot, intentId });
  }
  const found: Difference[] = [];
  for (const { lot, intentId } of lots.values())
    found.push(...(await compareBankRefund(dependencies.provider, books, lot, intentId)));
  return found;
}

async function compareBankRefund(
  provider: PaymentProvider,
  books: Books,
  lot: PaidLot,
  intentId: string,
): Promise<Difference[]> {
  const shown = await provider.listRefunds(intentId);
  const account = await books.account(lot.userId);
  const ours = Object.entries(account.refunds).filter(([, { lotId }]) => lotId === lot.lotId);
  const ids = new Set(ours.map(([refundId]) => refundId));
  const banks = shown.filter(
    ({ refundId, status }) => status !== 'failed' && (refundId === null || !ids.has(refundId)),
  );
  const gone = ours.map(([, refund]) => refund).filter(({ status }) => status !== 'failed');
  const bankMinor = sum(banks.map(({ amountMinor }) => amountMinor));
  const all = bankMinor + sum(gone.map(({ amountMinor }) => amountMinor));
  const target = creditsFor({ granted: lot.credits, paidMinor: lot.paidMinor }, all);
  const wanted =
    bankMinor === 0 ? 0 : Math.max(0, target - sum(gone.map(({ credits }) => credits)));
  const clawbacks = account.lots.find(({ lotId }) => lotId === lot.lotId)?.clawbacks ?? [];
  const clawedBack = sum(
    clawbacks.filter(({ ref }) => /^(ch|py)_/.test(ref)).map((clawback) => clawback.wanted),
  );
  if (clawedBack === wanted) return [];
  const newest = Math.max(0, ...shown.map(({ createdAt }) => createdAt));
  return [
    {
      kind: 'bank-refund',
      object: intentId,
      userId: lot.userId,
      expected: `${wanted} credits of ${lot.lotId} taken back for ${amountText(bankMinor, lot.currency)}`,
      found: `${clawedBack} credits`,
      cause: 'it was refunded without us, and the delivery of that was lost or is still on its way',
      repairs: repairers.reading,
      isSettling: isYoung(books, newest),
    },
  ];
}

function sum(figures: readonly number[]): number {
  return figures.reduce((total, figure) => total + figure, 0);
}

function isYoung({ now }: Books, at: number): boolean {
  return now - at < settleMs;
}
