import type pg from 'pg';
import type { Queryable } from '#db/connect.ts';
import { findPaidLot } from '#projections/paid-lot.ts';
import type { PaidLot } from '#projections/paid-lot.ts';
import { amountText, isYoung, repairers } from './difference.ts';
import type { Difference } from './difference.ts';
import { disputeClawback, lotOf, stands } from '#services/payments/settle/expected.ts';
import type { DisputeView, PaymentProvider } from '#services/payments/provider.ts';
import { lotOfIntent, readClawbacks } from './books.ts';
import type { Books } from './books.ts';

type Dependencies = { pool: pg.Pool; provider: PaymentProvider };

type DisputeRow = {
  id: string;
  user_id: string;
  lot_id: string;
  amount_minor: number;
  status: string;
  stage: DisputeView['stage'];
};

/** Where a dispute stands is what its row says and what its clawback takes, and the other way round. */
export async function compareDisputes(
  { pool, provider }: Dependencies,
  books: Books,
): Promise<Difference[]> {
  const rows = new Map((await readRows(pool, books.since)).map((row) => [row.id, row]));
  const clawbacks = await readClawbacks(pool, books.since);
  const clawedBack = clawbacks.flatMap(({ ref }) => (/^(dp|du|pdp)_/.test(ref) ? [ref] : []));
  const moved = await movedDisputes(pool, books.since);
  const listed = new Map(books.disputes.map((view) => [view.disputeId, view]));
  const found: Difference[] = [];
  for (const id of new Set([...listed.keys(), ...rows.keys(), ...clawedBack, ...moved])) {
    const view = listed.get(id) ?? (await provider.retrieveDispute(id));
    const row = rows.get(id) ?? (await readRow(pool, id));
    found.push(...(view === null ? onlyHere(id, row) : await compareView(pool, books, view, row)));
  }
  return found;
}

async function readRows(client: Queryable, since: number): Promise<DisputeRow[]> {
  const { rows } = await client.query<DisputeRow>(
    `select id, user_id, lot_id, amount_minor, status, stage from dispute
     where closed_at is null or updated_at >= $1 or created_at >= $1 order by created_at, id`,
    [new Date(since)],
  );
  return rows;
}

async function readRow(client: Queryable, id: string): Promise<DisputeRow | null> {
  const { rows } = await client.query<DisputeRow>(
    'select id, user_id, lot_id, amount_minor, status, stage from dispute where id = $1',
    [id],
  );
  return rows[0] ?? null;
}

/** Disputes that moved money in the window, however old they are. */
async function movedDisputes(client: Queryable, since: number): Promise<string[]> {
  const { rows } = await client.query<{ id: string }>(
    `select distinct source_id as id from balance_transaction
     where created_at >= $1 and source_id ~ '^(dp|du|pdp)_' order by 1`,
    [new Date(since)],
  );
  return rows.map(({ id }) => id);
}

function onlyHere(id: string, row: DisputeRow | null): Difference[] {
  return [
    {
      kind: 'dispute-only-here',
      object: id,
      userId: row?.user_id ?? null,
      expected: 'a dispute at the provider',
      found: 'none',
      cause: 'the ledger has a clawback of a dispute that the provider does not know',
      repairs: repairers.operator,
      isSettling: false,
    },
  ];
}

async function compareView(
  pool: pg.Pool,
  books: Books,
  view: DisputeView,
  row: DisputeRow | null,
): Promise<Difference[]> {
  const { disputeId, intentId, amountMinor, currency, stage, status } = view;
  const lot =
    lotOfIntent(books, intentId) ?? (row && (await findPaidLot(pool, { lotId: row.lot_id })));
  const common = {
    object: disputeId,
    userId: row?.user_id ?? lot?.userId ?? null,
    cause: 'the webhook event was lost or is still on its way',
    repairs: repairers.settling,
    // Only its beginning has a time; later moves show in the balance.
    isSettling: row === null && isYoung(view.createdAt, books.now),
  };
  if (row === null)
    return [
      {
        ...common,
        kind: 'dispute-missing',
        expected: `a dispute of ${amountText(amountMinor, currency)} that is ${stage}`,
        found: 'none',
        ...(lot === null
          ? { cause: 'it is about a payment for which there is no lot', repairs: repairers.payment }
          : {}),
      },
    ];
  const isSame = row.stage === stage && row.status === status && row.amount_minor === amountMinor;
  return [
    ...(isSame
      ? []
      : [
          {
            ...common,
            kind: 'dispute-stage' as const,
            expected: `${stage} (${status}), ${amountText(amountMinor, currency)}`,
            found: `${row.stage} (${row.status}), ${amountText(row.amount_minor, currency)}`,
          },
        ]),
    ...(lot === null ? [] : await compareClawback(books, view, lot, common)),
  ];
}

async function compareClawback(
  { account }: Books,
  view: DisputeView,
  lot: PaidLot,
  common: Pick<Difference, 'object' | 'userId' | 'cause' | 'repairs' | 'isSettling'>,
): Promise<Difference[]> {
  const held = lotOf(await account(lot.userId), lot.lotId);
  const clawback = held?.clawbacks.find(({ ref }) => ref === view.disputeId);
  const should = disputeClawback({ ...lot, granted: lot.credits }, view);
  if (stands(held, should)) return [];
  return [
    {
      ...common,
      kind: 'dispute-clawback',
      expected: clawbackText(should.wanted, should.owes, lot.lotId),
      found: clawbackText(clawback?.wanted ?? 0, clawback?.owes ?? false, lot.lotId),
    },
  ];
}

function clawbackText(wanted: number, owes: boolean, lotId: string): string {
  if (wanted === 0) return `nothing taken of ${lotId}`;
  return `${wanted} credits of ${lotId} ${owes ? 'taken or owed' : 'frozen'}`;
}
