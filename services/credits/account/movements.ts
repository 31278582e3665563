import type { CreditEventType, CreditFact } from './events.ts';

/**
 * The ledger in double entry. Each event moves credits between accounts, and what it takes from one
 * it adds to another, so that every transaction sums to 0 and so do all accounts together.
 * `projections/credit-ledger.ts` says the same in SQL; a test compares the two.
 *
 * `issued` accounts and `user:debt` stand below zero: the first are where credits come from, the
 * second is what the person owes. `sys:refunded_job` is below zero too and reduces `sys:consumed`.
 */
export type LedgerAccount =
  | 'user:available'
  | 'user:held'
  | 'user:debt'
  | 'sys:issued_paid'
  | 'sys:issued_bonus'
  | 'sys:issued_other'
  | 'sys:consumed'
  | 'sys:refunded_job'
  | 'sys:cash_pending'
  | 'sys:cash_refunded'
  | 'sys:revoked';

export type Posting = { account: LedgerAccount; credits: number };

const ledgerAccounts = [
  'user:available',
  'user:held',
  'user:debt',
  'sys:issued_paid',
  'sys:issued_bonus',
  'sys:issued_other',
  'sys:consumed',
  'sys:refunded_job',
  'sys:cash_pending',
  'sys:cash_refunded',
  'sys:revoked',
] as const satisfies readonly LedgerAccount[];

/** The two sides of one event; none for an event that only announces. */
export function postings(event: CreditFact): Posting[] {
  const route = routeOf(event);
  if (route === null || !('credits' in event.data)) return [];
  const { credits } = event.data;
  return [
    { account: route.from, credits: -credits },
    { account: route.to, credits },
  ];
}

type Route = { from: LedgerAccount; to: LedgerAccount };

function routeOf(event: CreditFact): Route | null {
  if (event.type === 'CreditsGranted')
    return { from: issuedBy[event.data.source], to: 'user:available' };
  if (event.type === 'CashRefundFailed') return cashReturns[event.data.from];
  // Paid after it had failed: a clawback takes the credits, and gives them back.
  if (event.type === 'CashRefundConfirmed' && event.data.from === 'failed') return null;
  return routes[event.type];
}

const cashReturns: Readonly<Record<'pending' | 'confirmed' | 'clawed_back', Route | null>> = {
  pending: { from: 'sys:cash_pending', to: 'user:available' },
  confirmed: { from: 'sys:cash_refunded', to: 'user:available' },
  clawed_back: null,
};

const issuedBy = {
  purchase: 'sys:issued_paid',
  bonus: 'sys:issued_bonus',
  other: 'sys:issued_other',
} as const;

const routes = {
  CreditsReserved: { from: 'user:available', to: 'user:held' },
  CreditsCaptured: { from: 'user:held', to: 'sys:consumed' },
  CreditsReturned: { from: 'sys:refunded_job', to: 'user:available' },
  CreditsReleased: { from: 'user:held', to: 'user:available' },
  LotRevoked: { from: 'user:available', to: 'sys:revoked' },
  DebtIncurred: { from: 'user:debt', to: 'sys:revoked' },
  DebtSettled: { from: 'user:available', to: 'user:debt' },
  DebtCancelled: { from: 'sys:revoked', to: 'user:debt' },
  DebtSettlementReversed: { from: 'sys:revoked', to: 'user:available' },
  LotReinstated: { from: 'sys:revoked', to: 'user:available' },
  CreditsConsumed: { from: 'user:available', to: 'sys:consumed' },
  CashRefundRequested: { from: 'user:available', to: 'sys:cash_pending' },
  CashRefundConfirmed: { from: 'sys:cash_pending', to: 'sys:cash_refunded' },
  ClawbackSet: null,
  SpendingFrozen: null,
  SpendingUnfrozen: null,
  AccountClosed: null,
} as const satisfies Record<
  Exclude<CreditEventType, 'CreditsGranted' | 'CashRefundFailed'>,
  Route | null
>;

/**
 * granted = available + held + consumed − refunded + cash_pending + cash_refunded + revoked, all from
 * the accounts' sums; `refunded` is what came back of runs.
 * `revoked` is what has really been taken back; what is still owed stands in `debt` beside it.
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
  const all = ledgerAccounts.reduce((total, account) => total + sum(account), 0);
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
