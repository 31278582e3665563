import type pg from 'pg';
import type { Queryable } from '#db/connect.ts';
import { readCashRefunds } from '#projections/cash-refund.ts';
import { findPaidLot } from '#projections/paid-lot.ts';
import type { PaidLot } from '#projections/paid-lot.ts';
import type { AccountState } from '#services/credits/account/state.ts';
import type { Clawback } from '#services/credits/account/lots.ts';
import { amountText, repairers } from './difference.ts';
import type { Difference } from './difference.ts';
import type { PaymentProvider } from '#services/payments/provider.ts';
import { readClawbacks } from './books.ts';
import type { Books } from './books.ts';
import { intentOf } from './refunds.ts';

type Dependencies = { pool: pg.Pool; provider: PaymentProvider };

/**
 * Money that went back twice, where the ledger has credits for once: a refund that failed, whose
 * credits were refunded again, and that was paid after all, or a dispute of what had been refunded. No
 * debt covers it, since these credits were never used; the clawback waits for ever, and an operator has to know.
 */
export async function compareClawbacks(
  dependencies: Dependencies,
  books: Books,
): Promise<Difference[]> {
  const { pool } = dependencies;
  const moved = [
    ...(await readClawbacks(pool, books.since)),
    // A clawback that waited for a refund can be filled by nothing once that is paid.
    ...(await readCashRefunds(pool, books.since, [])),
  ];
  const found: Difference[] = [];
  for (const [lotId, userId] of new Map(moved.map((one) => [one.lotId, one.userId]))) {
    const clawbacks = unfilled(await books.account(userId), lotId);
    const lot = clawbacks.length === 0 ? null : await findPaidLot(pool, { lotId });
    const twice = lot === null ? 0 : (await goneOf(dependencies, lot)) - lot.paidMinor;
    // Each clawback is rounded up to whole credits, so the last one may want more than there ever was.
    if (lot !== null && twice > 0)
      found.push(...clawbacks.map((clawback) => lost(clawback, lot, twice)));
  }
  return found;
}

/** Those that owe and want more than holds and refunds that are under way could bring back. */
function unfilled({ lots }: AccountState, lotId: string): Clawback[] {
  const lot = lots.find((candidate) => candidate.lotId === lotId);
  if (!lot) return [];
  const clawbacks = lot.clawbacks.filter(({ owes, wanted, taken }) => owes && wanted > taken);
  const missing = clawbacks.reduce((sum, { wanted, taken }) => sum + wanted - taken, 0);
  return missing > lot.held + lot.cashPending ? clawbacks : [];
}

/** All money of a payment that went back, by whomever. */
async function goneOf({ pool, provider }: Dependencies, lot: PaidLot): Promise<number> {
  const intentId = await intentOf(provider, lot);
  const shown = intentId === null ? [] : await provider.listRefunds(intentId);
  return shown
    .filter(({ status }) => status !== 'failed')
    .reduce((sum, { amountMinor }) => sum + amountMinor, await disputedOf(pool, lot));
}

async function disputedOf(client: Queryable, { lotId }: PaidLot): Promise<number> {
  const { rows } = await client.query<{ minor: number }>(
    `select coalesce(sum(amount_minor), 0)::float8 as minor from dispute
     where lot_id = $1 and stage in ('withdrawn', 'lost')`,
    [lotId],
  );
  return rows[0]?.minor ?? 0;
}

function lost({ ref, wanted, taken }: Clawback, lot: PaidLot, twice: number): Difference {
  return {
    kind: 'clawback-unfilled',
    object: ref,
    userId: lot.userId,
    expected: `${wanted} credits of ${lot.lotId} taken back`,
    found: `${taken}, and nothing is left to take; ${amountText(twice, lot.currency)} more went back than was paid`,
    cause: 'money went back twice, and for the second time there are no credits and no debt',
    repairs: repairers.operator,
    isSettling: false,
  };
}
