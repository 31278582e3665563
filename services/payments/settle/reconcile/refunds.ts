import type pg from 'pg';
import { readCashRefunds } from '#projections/cash-refund.ts';
import type { CashRefundRow } from '#projections/cash-refund.ts';
import { findPaidLot } from '#projections/paid-lot.ts';
import type { PaidLot } from '#projections/paid-lot.ts';
import { amountText, isYoung, repairers } from './difference.ts';
import type { Difference } from './difference.ts';
import { endOf, expected, lotOf, stands } from '#services/payments/settle/expected.ts';
import { parsePaymentKey } from '#services/payments/settle/find.ts';
import type { PaymentProvider, RefundView } from '#services/payments/provider.ts';
import { lotOfIntent, readClawbacks } from './books.ts';
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
  const rows = await readCashRefunds(pool, books.since, named);
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
        repairs: repairers.operator,
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
      repairs: repairers.operator,
      isSettling: false,
    });
  const end = endOf[refund.status];
  if (row.status === end) return differences;
  const isOpen = row.status === 'pending';
  return [
    ...differences,
    {
      ...common,
      kind: isOpen ? 'refund-not-booked' : 'refund-contradicts',
      expected: `${end}, as the provider shows it`,
      found: `${row.status} in the ledger`,
      cause: isOpen
        ? 'the webhook event of its end was lost or is still on its way'
        : 'it ended in another way than was reported before, and the webhook event of that was lost',
      repairs: isOpen ? repairers.refunds : repairers.settling,
      isSettling: isYoung(refund.createdAt, books.now),
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
        repairs: repairers.operator,
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
      repairs: isPending ? repairers.refunds : repairers.operator,
      isSettling: isPending && isYoung(Date.parse(row.requestedAt), books.now),
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
  const { kind, id } = parsePaymentKey(lot.paymentKey);
  return kind === 'intent' ? id : ((await provider.retrieveInvoice(id))?.intentId ?? null);
}

// --- refunds made by the bank, or at the provider's own pages ---

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
  for (const { lotId, ref } of await readClawbacks(dependencies.pool, books.since)) {
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
  const refunds = await provider.listRefunds(intentId);
  const account = await books.account(lot.userId);
  const { bankRefunds, clawbacks } = expected({
    payment: { ...lot, granted: lot.credits },
    account,
    refunds,
    disputes: [],
    refused: new Set(),
    now: books.ourNow,
  });
  const held = lotOf(account, lot.lotId);
  const [should] = clawbacks;
  if (should === undefined || stands(held, should)) return [];
  const minor = bankRefunds
    .filter(({ status }) => status !== 'failed')
    .reduce((sum, { amountMinor }) => sum + amountMinor, 0);
  const clawback = held?.clawbacks.find(({ ref }) => ref === should.ref);
  return [
    {
      kind: 'bank-refund',
      object: intentId,
      userId: lot.userId,
      expected: `${should.wanted} credits of ${lot.lotId} taken back for ${amountText(minor, lot.currency)}`,
      found: `${clawback?.wanted ?? 0} credits`,
      cause: 'it was refunded without us, and its webhook event was lost or is still on its way',
      repairs: repairers.settling,
      isSettling: isYoung(Math.max(0, ...refunds.map(({ createdAt }) => createdAt)), books.now),
    },
  ];
}
