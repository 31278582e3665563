import type pg from 'pg';
import type { StreamEvents } from '#db/streams.ts';
import { readAccount } from '#projections/credit-account.ts';
import { readHistory } from '#projections/credit-history.ts';
import type { PackageName } from '#projections/credit-history.ts';
import { readLedger } from '#projections/credit-ledger.ts';
import type { ExportPart, ExportRow } from '#services/platform/export.ts';
import { IntegrityError } from '#services/platform/seal.ts';
import type { Sealer } from '#services/platform/seal.ts';
import { creditLimits } from './contract.ts';
import { recordedCreditEvents, stateOf } from './audit/replay.ts';
import { creditStream } from './account/events.ts';

export type CreditExportDependencies = {
  pool: pg.Pool;
  sealer: Sealer;
  readStream: (streamId: string) => Promise<StreamEvents>;
  packageName: PackageName;
};

const tables = {
  credit_balance: [
    'available',
    'held',
    'debt',
    'purchased',
    'bonus',
    'other',
    'consumed',
    'refund_pending',
    'refunded',
    'revoked',
  ],
  credit_lots: [
    'lot_id',
    'source',
    'granted_at',
    'payment_key',
    'purchase_id',
    'paid_minor',
    'currency',
    'granted',
    'available',
    'held',
    'consumed',
    'cash_pending',
    'cash_refunded',
    'revoked',
  ],
  credit_refunds: [
    'refund_id',
    'lot_id',
    'status',
    'credits',
    'amount_minor',
    'currency',
    'requested_at',
    'ended_at',
  ],
  credit_history: [
    'id',
    'created_at',
    'transaction_type',
    'reason_code',
    'description',
    'amount',
    'balance_after',
    'run_id',
    'purchase_id',
    'lot_id',
    'note',
  ],
  credit_events: ['position', 'at', 'type', 'data', 'note'],
  credit_postings: ['transaction_id', 'event', 'account', 'credits'],
} as const;

/** A user's balance, lots and refunds, and every movement as lines, events and postings. */
export function creditExport(dependencies: CreditExportDependencies): ExportPart {
  return {
    tables,
    async *rows(userId) {
      const account = await readAccount(dependencies.pool, userId);
      yield ['credit_balance', { ...account, refund_pending: account.refundPending }];
      for await (const row of historyRows(dependencies, userId)) yield ['credit_history', row];
      const { events } = await dependencies.readStream(creditStream(userId));
      const state = stateOf(recordedCreditEvents(events));
      for (const lot of state.lots)
        yield [
          'credit_lots',
          {
            ...lot,
            lot_id: lot.lotId,
            granted_at: lot.grantedAt,
            payment_key: lot.paymentKey,
            purchase_id: lot.purchaseId,
            paid_minor: lot.paidMinor,
            cash_pending: lot.cashPending,
            cash_refunded: lot.cashRefunded,
          },
        ];
      for (const [refundId, refund] of Object.entries(state.refunds))
        yield [
          'credit_refunds',
          {
            ...refund,
            refund_id: refundId,
            lot_id: refund.lotId,
            amount_minor: refund.amountMinor,
            requested_at: refund.requestedAt,
            ended_at: refund.endedAt,
          },
        ];
      for (const { streamPosition, type, data, metadata } of events) {
        const { sealed, ...rest } = data;
        const note = noteIn(sealed);
        yield [
          'credit_events',
          {
            position: streamPosition,
            at: metadata['occurredAt'],
            type,
            data: rest,
            note: await openedNote(dependencies, userId, note),
          },
        ];
      }
      for (const { transactionId, event, postings } of await readLedger(dependencies.pool, userId))
        for (const posting of postings)
          yield ['credit_postings', { transaction_id: transactionId, event, ...posting }];
    },
  };
}

async function* historyRows(
  dependencies: CreditExportDependencies,
  userId: string,
): AsyncGenerator<ExportRow> {
  for (let before: string | undefined; ;) {
    const part = { limit: creditLimits.historyMost, before };
    const page = await readHistory(dependencies.pool, userId, part, dependencies.packageName);
    for (const { transaction, sealedNote } of page)
      yield { ...transaction, note: await openedNote(dependencies, userId, sealedNote) };
    before = page.at(-1)?.transaction.id;
    if (before === undefined) return;
  }
}

function noteIn(sealed: unknown): string | null {
  if (typeof sealed !== 'object' || sealed === null || !('note' in sealed)) return null;
  return typeof sealed.note === 'string' ? sealed.note : null;
}

/** A damaged note does not stop the export. */
async function openedNote(
  { sealer }: CreditExportDependencies,
  userId: string,
  note: string | null,
): Promise<string | null> {
  if (note === null) return null;
  try {
    const opened = await sealer.open(note, { stream: creditStream(userId), field: 'note' });
    return 'erased' in opened ? null : opened.text;
  } catch (error) {
    if (error instanceof IntegrityError) return null;
    throw error;
  }
}
