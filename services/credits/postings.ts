import type { CreditEventType, CreditFact } from './account.ts';

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
  'sys:revoked',
] as const satisfies readonly LedgerAccount[];

/** The two sides of one event; none for an event that only announces. */
export function postings(event: CreditFact): Posting[] {
  if (event.type === 'RevocationDeferred') return [];
  const { credits } = event.data;
  const { from, to } =
    event.type === 'CreditsGranted'
      ? { from: issuedBy[event.data.source], to: 'user:available' as const }
      : routes[event.type];
  return [
    { account: from, credits: -credits },
    { account: to, credits },
  ];
}

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
} as const satisfies Record<
  Exclude<CreditEventType, 'CreditsGranted' | 'RevocationDeferred'>,
  { from: LedgerAccount; to: LedgerAccount }
>;

/**
 * granted = available + held + consumed − refunded + revoked, all from the accounts' sums.
 * `revoked` is what has really been taken back; what is still owed stands in `debt` beside it.
 */
export type TrialBalance = {
  granted: number;
  available: number;
  held: number;
  consumed: number;
  refunded: number;
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
  const debt = minus(sum('user:debt'));
  const revoked = sum('sys:revoked') - debt;
  const all = ledgerAccounts.reduce((total, account) => total + sum(account), 0);
  const balanced = all === 0 && granted === available + held + consumed - refunded + revoked;
  return { granted, available, held, consumed, refunded, revoked, debt, balanced };
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
    revoked: total('revoked'),
    debt: total('debt'),
    balanced: balances.every((balance) => balance.balanced),
  };
}

/** Not −0, which is equal to 0 and printed otherwise. */
function minus(value: number): number {
  return value === 0 ? 0 : -value;
}
