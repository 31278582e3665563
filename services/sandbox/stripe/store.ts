import { createHash, randomBytes } from 'node:crypto';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { Stripe } from 'stripe';

/**
 * The state of the fake, in tables of plain objects. With a folder each transaction is one line of a
 * journal there, so it is kept as a whole or not at all, and a restart forgets nothing. Everything is
 * synchronous: no reader sees half a transaction.
 */
export type Store = {
  get<K extends Kind>(kind: K, id: string): Kinds[K] | null;
  /** Oldest first. */
  all<K extends Kind>(kind: K): Kinds[K][];
  /** As `all`, with their keys. */
  entries<K extends Kind>(kind: K): [string, Kinds[K]][];
  put<K extends Kind>(kind: K, id: string, row: Kinds[K]): Kinds[K];
  /** Forgets a row for good. */
  drop(kind: Kind, id: string): void;
  newId(prefix: string): string;
  /** The object with this id, of whatever kind; null when there is none. */
  find(id: string): StoredObject | null;
  /** All of it or nothing. One inside another is undone alone, and done with the outer one. */
  transact<T>(work: () => T): T;
};

export type Kinds = {
  customer: Stripe.Customer | Stripe.DeletedCustomer;
  product: Stripe.Product;
  price: Stripe.Price;
  session: Stripe.Checkout.Session;
  sessionDetails: SessionDetails;
  intent: Stripe.PaymentIntent;
  charge: Stripe.Charge;
  refund: Stripe.Refund;
  dispute: Stripe.Dispute;
  warning: Stripe.Radar.EarlyFraudWarning;
  transaction: Stripe.BalanceTransaction;
  payout: Stripe.Payout;
  invoice: Stripe.Invoice;
  invoicePayment: Stripe.InvoicePayment;
  subscription: Stripe.Subscription;
  collection: Collection;
  portal: Stripe.BillingPortal.Session;
  event: Stripe.Event;
  webhook: WebhookEventRow;
  answer: StoredAnswer;
  setting: { value: number | string };
};
export type Kind = keyof Kinds;

/** The hidden fields of a checkout session. */
export type SessionDetails = {
  lines: Stripe.LineItem[];
  intentMetadata: Stripe.Metadata;
  subscriptionMetadata: Stripe.Metadata;
  /** Why the last try failed, in words for the page. */
  decline: string | null;
  /** When the bank confirms without being asked, in seconds. */
  settlesAt: number | null;
};

/** How the money of a subscription comes in. */
export type Collection = {
  /** How many of the next tries fail. */
  failures: number;
  /** Of the open invoice, tries that were made after the first. */
  retries: number;
  retryAt: number | null;
};

export type WebhookEventRow = {
  state: 'pending' | 'delivered' | 'given-up' | 'dropped';
  attempts: number;
  /** Milliseconds of the fake's clock. */
  createdAt: number;
  nextAt: number;
};

export type StoredAnswer = {
  /** Of method, address and parameters. */
  fingerprint: string;
  status: number;
  body: string;
  at: number;
};

/** Of every kind of object, how its ids begin. */
const prefixes = {
  cus_: 'customer',
  prod_: 'product',
  price_: 'price',
  cs_: 'session',
  pi_: 'intent',
  ch_: 'charge',
  re_: 'refund',
  dp_: 'dispute',
  issfr_: 'warning',
  txn_: 'transaction',
  po_: 'payout',
  in_: 'invoice',
  inpay_: 'invoicePayment',
  sub_: 'subscription',
  bps_: 'portal',
} as const satisfies Record<string, Kind>;

export type StoredObject = Kinds[(typeof prefixes)[keyof typeof prefixes]];

type Tables = { [K in Kind]: Map<string, Kinds[K]> };
/** Null for a row that was forgotten. */
type Change = { [K in Kind]: [kind: K, id: string, row: Kinds[K] | null] }[Kind];

export type StoreOptions = {
  /** Null keeps everything in memory only. */
  folder: string | null;
  /** The seed of ids, so that a test that prints its seed can be repeated. */
  seed?: string;
  /** For a second process that only reads. */
  readOnly?: boolean;
};

export function createStore({ folder, seed, readOnly = false }: StoreOptions): Store {
  const tables = emptyTables();
  const journal = folder === null ? null : join(folder, 'journal.jsonl');
  if (journal !== null) load(journal, tables);
  if (folder !== null && journal !== null && !readOnly) {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    compact(journal, tables);
  }
  let changes: Change[] = [];
  let undo: (() => void)[] = [];
  let depth = 0;

  const store: Store = {
    get: (kind, id) => tables[kind].get(id) ?? null,

    all: (kind) => [...tables[kind].values()],

    entries: (kind) => [...tables[kind].entries()],

    put<K extends Kind>(kind: K, id: string, row: Kinds[K]): Kinds[K] {
      if (readOnly) throw new Error(readOnlyMessage);
      if (depth === 0) return store.transact(() => store.put(kind, id, row));
      undo.push(restoring(tables[kind], id));
      tables[kind].set(id, row);
      changes.push([kind, id, row] as Change);
      return row;
    },

    drop(kind, id) {
      if (depth === 0) {
        store.transact(() => store.drop(kind, id));
        return;
      }
      if (readOnly) throw new Error(readOnlyMessage);
      // A restored row moves to the end; the order of deleted rows does not matter.
      undo.push(restoring(tables[kind], id));
      tables[kind].delete(id);
      changes.push([kind, id, null]);
    },

    newId(prefix) {
      const number = Number(store.get('setting', 'sequence')?.value ?? 0) + 1;
      store.put('setting', 'sequence', { value: number });
      const salt = String(store.get('setting', 'seed')?.value ?? '');
      const tail = createHash('sha256').update(`${salt}:${number}`).digest('hex').slice(0, 18);
      return `${prefix}${number.toString(36).padStart(6, '0')}${tail}`;
    },

    find(id) {
      // The id of a product may be chosen.
      const product = store.get('product', id);
      if (product !== null) return product;
      const prefix = /^[a-z]+_/.exec(id)?.[0] ?? '';
      return isPrefix(prefix) ? store.get(prefixes[prefix], id) : null;
    },

    transact(work) {
      const before = { changes: changes.length, undo: undo.length };
      depth += 1;
      try {
        const result = work();
        if (depth === 1 && changes.length > 0 && journal !== null)
          appendFileSync(journal, `${JSON.stringify(changes)}\n`);
        return result;
      } catch (error) {
        for (const step of undo.splice(before.undo).toReversed()) step();
        changes.splice(before.changes);
        throw error;
      } finally {
        depth -= 1;
        if (depth === 0) {
          changes = [];
          undo = [];
        }
      }
    },
  };
  if (!readOnly && store.get('setting', 'seed') === null)
    store.put('setting', 'seed', { value: seed ?? randomBytes(12).toString('hex') });
  return store;
}

const readOnlyMessage = 'This process only reads the sandbox of payments';

function restoring(table: Map<string, unknown>, id: string): () => void {
  const before = table.get(id);
  return () => void (before === undefined ? table.delete(id) : table.set(id, before));
}

function isPrefix(text: string): text is keyof typeof prefixes {
  return Object.hasOwn(prefixes, text);
}

function emptyTables(): Tables {
  return {
    customer: new Map(),
    product: new Map(),
    price: new Map(),
    session: new Map(),
    sessionDetails: new Map(),
    intent: new Map(),
    charge: new Map(),
    refund: new Map(),
    dispute: new Map(),
    warning: new Map(),
    transaction: new Map(),
    payout: new Map(),
    invoice: new Map(),
    invoicePayment: new Map(),
    subscription: new Map(),
    collection: new Map(),
    portal: new Map(),
    event: new Map(),
    webhook: new Map(),
    answer: new Map(),
    setting: new Map(),
  };
}

/** A truncated last line belongs to a transaction that was never answered. */
function load(journal: string, tables: Tables): void {
  if (!existsSync(journal)) return;
  const lines = readFileSync(journal, 'utf8').split('\n').slice(0, -1);
  for (const line of lines) {
    // Only this file writes there, whole lines, from rows of these types.
    const changes = JSON.parse(line, revived) as Change[];
    for (const change of changes) keep(tables, change);
  }
}

function keep<K extends Kind>(tables: Tables, [kind, id, row]: [K, string, Kinds[K] | null]) {
  if (row === null) tables[kind].delete(id);
  else tables[kind].set(id, row);
}

function revived(name: string, value: unknown): unknown {
  return name.endsWith('_decimal') && typeof value === 'string'
    ? Stripe.Decimal.from(value)
    : value;
}

/** One line for each row, written under another name first, so that the journal always exists. */
function compact(journal: string, tables: Tables): void {
  const lines = kindsOf(tables).flatMap((kind) =>
    [...tables[kind]].map(([id, row]) => `${JSON.stringify([[kind, id, row]])}\n`),
  );
  writeFileSync(`${journal}.draft`, lines.join(''), { mode: 0o600 });
  renameSync(`${journal}.draft`, journal);
}

function kindsOf(tables: Tables): Kind[] {
  return Object.keys(tables) as Kind[];
}
