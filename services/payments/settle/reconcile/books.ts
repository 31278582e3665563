import type { Queryable } from '#db/connect.ts';
import { readPaidLots } from '#projections/paid-lot.ts';
import type { PaidLot } from '#projections/paid-lot.ts';
import type { AccountState } from '#services/credits/account/state.ts';
import type { PaymentDependencies } from '#services/payments/dependencies.ts';
import type {
  ChargeView,
  DisputeView,
  InvoiceView,
  RefundView,
} from '#services/payments/provider.ts';
import type { PurchaseRow } from '#services/payments/purchases/rows.ts';

/**
 * Both sides of the books since a time: what the provider shows, and what we have of it. What one side
 * names and the other's window does not reach is looked up by its id.
 */
export type Books = {
  since: number;
  /** The later of our clock and the provider's newest: of two clocks one may be ahead. */
  now: number;
  /** Our clock alone, for what has a time of ours. */
  ourNow: number;
  charges: readonly ChargeView[];
  invoices: readonly InvoiceView[];
  refunds: readonly RefundView[];
  disputes: readonly DisputeView[];
  /** By payment key: of the window, and of every payment that the provider shows. */
  lots: ReadonlyMap<string, PaidLot>;
  /** By id, and by the id of its intent. */
  purchases: ReadonlyMap<string, PurchaseRow>;
  /** The account of a person, read once. */
  account: (userId: string) => Promise<AccountState>;
};

export type BooksDependencies = Pick<PaymentDependencies, 'pool' | 'provider' | 'ledger' | 'clock'>;

const day = 24 * 60 * 60 * 1000;
/** An invoice may be paid weeks after it was made, when its first payments failed. */
const invoiceDays = 40;

export async function readBooks(
  { pool, provider, ledger, clock }: BooksDependencies,
  since: number,
): Promise<Books> {
  const charges = await Array.fromAsync(provider.listCharges(since));
  const invoices = await Array.fromAsync(provider.listInvoices(since - invoiceDays * day));
  const refunds = await Array.fromAsync(provider.listAllRefunds(since));
  const disputes = await Array.fromAsync(provider.listDisputes(since));
  const ourNow = clock();
  const newest = Math.max(
    ourNow,
    ...[...charges, ...invoices, ...refunds, ...disputes].map(({ createdAt }) => createdAt),
  );
  const intents = [...charges, ...refunds, ...disputes].flatMap(({ intentId }) => intentId ?? []);
  const purchases = await readPurchases(pool, intents);
  const keys = [
    ...intents.map((id) => `pi:${id}`),
    ...invoices.map(({ invoiceId }) => `invoice:${invoiceId}`),
    ...purchases.flatMap(({ payment_key: key }) => key ?? []),
  ];
  const lots = await readPaidLots(pool, since, keys);
  return {
    since,
    now: newest,
    ourNow,
    charges,
    invoices,
    refunds,
    disputes,
    lots: new Map(lots.map((lot) => [lot.paymentKey, lot])),
    purchases: new Map(
      purchases.flatMap((row) => [
        [row.id, row] as const,
        ...(row.payment_intent_id === null ? [] : [[row.payment_intent_id, row] as const]),
      ]),
    ),
    account: once(async (userId: string) => ledger.readAccount(userId)),
  };
}

/** The lot that an intent paid for, alone or through an invoice; null when there is none. */
export function lotOfIntent(books: Books, intentId: string | null): PaidLot | null {
  if (intentId === null) return null;
  const invoice = invoiceOfIntent(books, intentId);
  const key = invoice === null ? `pi:${intentId}` : `invoice:${invoice}`;
  return books.lots.get(key) ?? null;
}

/** The invoice that an intent paid; null for a payment that stands for itself. */
export function invoiceOfIntent(books: Books, intentId: string): string | null {
  const listed = books.invoices.find((invoice) => invoice.intentId === intentId);
  return listed?.invoiceId ?? books.purchases.get(intentId)?.invoice_id ?? null;
}

async function readPurchases(
  client: Queryable,
  intents: readonly string[],
): Promise<PurchaseRow[]> {
  const { rows } = await client.query<PurchaseRow>(
    'select * from purchase where payment_intent_id = any ($1)',
    [intents],
  );
  return rows;
}

export type ClawedBackLot = { userId: string; lotId: string; ref: string };

/** Which clawbacks the ledger moved in the window. */
export async function readClawbacks(client: Queryable, since: number): Promise<ClawedBackLot[]> {
  const { rows } = await client.query<ClawedBackLot>(
    `select distinct substr(stream_id, 9) as "userId", message_data ->> 'lotId' as "lotId",
       message_data ->> 'ref' as ref
     from emt_messages
     where message_type = 'ClawbackSet' and message_metadata ->> 'occurredAt' >= $1
     order by 1, 2, 3`,
    [new Date(since).toISOString()],
  );
  return rows;
}

function once<Value>(read: (key: string) => Promise<Value>): (key: string) => Promise<Value> {
  const known = new Map<string, Promise<Value>>();
  return async (key) => {
    const before = known.get(key);
    if (before !== undefined) return before;
    const reading = read(key);
    known.set(key, reading);
    return reading;
  };
}
