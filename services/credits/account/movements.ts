import type { AccountBalance, CreditEventType, CreditFact } from './events.ts';

/**
 * The only list of what each event moves: the account that its `credits` leave and the one they enter.
 * The balance, the double entry and the read models' SQL follow from this record. The lots' `evolve`
 * does not: it is the independent check.
 */

/**
 * What a credit in an account adds to the balance. Issued accounts are sources and stand below zero,
 * like `user:debt`, what the user owes; `sys:refunded_job` reduces `sys:consumed`. What is still owed
 * is in `sys:revoked`, but counts as revoked only when it is settled.
 */
const figures = {
  'user:available': { available: 1 },
  'user:held': { held: 1 },
  'user:debt': { debt: -1, revoked: 1 },
  'sys:issued_paid': { purchased: -1 },
  'sys:issued_bonus': { bonus: -1 },
  'sys:issued_other': { other: -1 },
  'sys:consumed': { consumed: 1 },
  'sys:refunded_job': { consumed: 1 },
  'sys:cash_pending': { refundPending: 1 },
  'sys:cash_refunded': { refunded: 1 },
  'sys:revoked': { revoked: 1 },
} as const satisfies Record<string, Partial<AccountBalance>>;

export type LedgerAccount = keyof typeof figures;

type Move = { readonly from: LedgerAccount; readonly to: LedgerAccount };

/** Null moves nothing. An event with a `source` or a `from` has a move for each of its values. */
type Moves<Data> = Data extends { source: infer Value extends string }
  ? Readonly<Record<Value, Move | null>>
  : Data extends { from: infer Value extends string }
    ? Readonly<Record<Value, Move | null>>
    : Move | null;

export const movements = {
  CreditsGranted: {
    purchase: { from: 'sys:issued_paid', to: 'user:available' },
    bonus: { from: 'sys:issued_bonus', to: 'user:available' },
    other: { from: 'sys:issued_other', to: 'user:available' },
  },
  CreditsReserved: { from: 'user:available', to: 'user:held' },
  CreditsCaptured: { from: 'user:held', to: 'sys:consumed' },
  CreditsReturned: { from: 'sys:refunded_job', to: 'user:available' },
  CreditsReleased: { from: 'user:held', to: 'user:available' },
  CreditsConsumed: { from: 'user:available', to: 'sys:consumed' },
  ClawbackSet: null,
  LotRevoked: { from: 'user:available', to: 'sys:revoked' },
  LotReinstated: { from: 'sys:revoked', to: 'user:available' },
  DebtIncurred: { from: 'user:debt', to: 'sys:revoked' },
  DebtSettled: { from: 'user:available', to: 'user:debt' },
  DebtCancelled: { from: 'sys:revoked', to: 'user:debt' },
  DebtSettlementReversed: { from: 'sys:revoked', to: 'user:available' },
  CashRefundRequested: { from: 'user:available', to: 'sys:cash_pending' },
  CashRefundConfirmed: {
    pending: { from: 'sys:cash_pending', to: 'sys:cash_refunded' },
    // It had failed before, so a clawback takes the credits.
    failed: null,
  },
  CashRefundFailed: {
    pending: { from: 'sys:cash_pending', to: 'user:available' },
    confirmed: { from: 'sys:cash_refunded', to: 'user:available' },
    // The clawback gives them back.
    clawed_back: null,
  },
  SpendingFrozen: null,
  SpendingUnfrozen: null,
  AccountClosed: null,
} as const satisfies {
  readonly [Type in CreditEventType]: Moves<Extract<CreditFact, { type: Type }>['data']>;
};

/** Events of which a movement enters or leaves what a user has: available, held and debt together. */
export type LineType = {
  [Type in CreditEventType]: true extends CrossesIn<(typeof movements)[Type]> ? Type : never;
}[CreditEventType];
type CrossesIn<Moved> = Moved extends Move ? Crosses<Moved> : Crosses<Moved[keyof Moved]>;
type Crosses<Moved> = Moved extends Move
  ? IsUsers<Moved['from']> extends IsUsers<Moved['to']>
    ? false
    : true
  : never;
type IsUsers<Account> = Account extends `user:${string}` ? true : false;

export const creditEventTypes = Object.keys(movements) as readonly CreditEventType[];

/** A row of the record: `variant` is the value of the event's `source` or `from`. */
export type Movement = Move & {
  event: CreditEventType;
  variant: string | null;
  /** What one credit of the event adds to the balance. */
  change: AccountBalance;
};

export const noCredits: AccountBalance = {
  available: 0,
  held: 0,
  debt: 0,
  purchased: 0,
  bonus: 0,
  other: 0,
  consumed: 0,
  refundPending: 0,
  refunded: 0,
  revoked: 0,
  freezes: 0,
};
export const balanceParts = Object.keys(noCredits) as readonly (keyof AccountBalance)[];

export const movementRows: readonly Movement[] = creditEventTypes.flatMap((event) => {
  const moves: Move | Readonly<Record<string, Move | null>> | null = movements[event];
  if (moves === null) return [];
  if (isMove(moves)) return [rowOf(event, null, moves)];
  return Object.entries(moves).flatMap(([variant, move]) =>
    move === null ? [] : [rowOf(event, variant, move)],
  );
});

function isMove(moves: Move | Readonly<Record<string, Move | null>>): moves is Move {
  return typeof moves.from === 'string';
}

function rowOf(event: CreditEventType, variant: string | null, { from, to }: Move): Movement {
  const change = { ...noCredits };
  for (const part of balanceParts) change[part] = figureOf(to, part) - figureOf(from, part);
  return { event, variant, from, to, change };
}

function figureOf(account: LedgerAccount, part: keyof AccountBalance): number {
  return (figures[account] as Partial<AccountBalance>)[part] ?? 0;
}

const movementByKey = new Map(movementRows.map((row) => [`${row.event} ${row.variant}`, row]));

function movementOf({ type, data }: CreditFact): Movement | undefined {
  const variant = 'source' in data ? data.source : 'from' in data ? data.from : null;
  return movementByKey.get(`${type} ${variant}`);
}

/** The balance after an event. */
export function addChange(balance: AccountBalance, event: CreditFact): AccountBalance {
  const change = balanceChange(event);
  const after = { ...balance };
  for (const part of balanceParts) after[part] += change[part];
  return after;
}

/** What one event adds to each figure of the account, from its amounts alone. */
export function balanceChange(event: CreditFact): AccountBalance {
  // Freezes are no credits and move between no accounts.
  if (event.type === 'SpendingFrozen') return { ...noCredits, freezes: 1 };
  if (event.type === 'SpendingUnfrozen') return { ...noCredits, freezes: -event.data.freezes };
  const movement = movementOf(event);
  if (movement === undefined || !('credits' in event.data)) return noCredits;
  const change = { ...noCredits };
  for (const part of balanceParts)
    if (movement.change[part] !== 0) change[part] = movement.change[part] * event.data.credits;
  return change;
}

export type Posting = { account: LedgerAccount; credits: number };

/** The two sides of one event; none for an event that moves nothing. */
export function postings(event: CreditFact): Posting[] {
  const movement = movementOf(event);
  if (movement === undefined || !('credits' in event.data)) return [];
  const { credits } = event.data;
  return [
    { account: movement.from, credits: -credits },
    { account: movement.to, credits },
  ];
}

/**
 * granted = available + held + consumed − refunded + cash_pending + cash_refunded + revoked, all from
 * the accounts' sums; `refunded` are credits returned for runs. `revoked` counts only credits that were
 * really taken back; the unpaid rest is in `debt`.
 */
export type TrialBalance = {
  granted: number;
  available: number;
  held: number;
  consumed: number;
  refunded: number;
  cash_pending: number;
  cash_refunded: number;
  revoked: number;
  debt: number;
  /** Both sides are equal, and all accounts together are 0. */
  balanced: boolean;
};

/** `sums` holds the sum of each account's postings; a missing account is 0. */
export function trialBalance(sums: ReadonlyMap<LedgerAccount, number>): TrialBalance {
  const sum = (account: LedgerAccount) => sums.get(account) ?? 0;
  const granted = minus(sum('sys:issued_paid') + sum('sys:issued_bonus') + sum('sys:issued_other'));
  const available = sum('user:available');
  const held = sum('user:held');
  const consumed = sum('sys:consumed');
  const refunded = minus(sum('sys:refunded_job'));
  const cashPending = sum('sys:cash_pending');
  const cashRefunded = sum('sys:cash_refunded');
  const debt = minus(sum('user:debt'));
  const revoked = sum('sys:revoked') - debt;
  const all = [...sums.values()].reduce((total, credits) => total + credits, 0);
  const placed = available + held + consumed - refunded + cashPending + cashRefunded + revoked;
  return {
    granted,
    available,
    held,
    consumed,
    refunded,
    cash_pending: cashPending,
    cash_refunded: cashRefunded,
    revoked,
    debt,
    balanced: all === 0 && granted === placed,
  };
}

/** The books of several people as one. */
export function addTrialBalances(balances: readonly TrialBalance[]): TrialBalance {
  const total = (part: Exclude<keyof TrialBalance, 'balanced'>) =>
    balances.reduce((sum, balance) => sum + balance[part], 0);
  return {
    granted: total('granted'),
    available: total('available'),
    held: total('held'),
    consumed: total('consumed'),
    refunded: total('refunded'),
    cash_pending: total('cash_pending'),
    cash_refunded: total('cash_refunded'),
    revoked: total('revoked'),
    debt: total('debt'),
    balanced: balances.every((balance) => balance.balanced),
  };
}

/** Not −0, which is equal to 0 and printed otherwise. */
function minus(value: number): number {
  return value === 0 ? 0 : -value;
}
