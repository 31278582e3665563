import { randomBytes } from 'node:crypto';
import { creditAccount, decide, fingerprintOf } from '#services/credits/account/account.ts';
import type { CreditCommand } from '#services/credits/account/account.ts';
import { creditStream } from '#services/credits/account/events.ts';
import {
  grantCommandId,
  reserveCommandId,
  settleCommandId,
} from '#services/credits/command-ids.ts';
import type { Charge } from '#services/optimizations/run/events.ts';
import { packageOf } from '#services/payments/catalogue.ts';
import { derivedId, newId } from '#services/platform/ids.ts';
import { appendRows, emptyHead, headRows } from './chained.ts';
import type { Cause, Head } from './chained.ts';
import { row } from './rows.ts';
import type { Rows } from './rows.ts';
import type { Seal } from './seal.ts';

type State = ReturnType<typeof creditAccount.initialState>;
export type Account = { userId: string; head: Head<State> };

/** A user with an account key; the first purchase comes with the first run. */
export async function openAccount(rows: Rows, seal: Seal, at: number): Promise<Account> {
  const userId = newId('usr', at);
  await seal.createDataKey('account', userId, userId);
  const time = new Date(at).toISOString();
  rows.users.push(row([userId, `${userId}@example.com`, 'A Person', time, time, time]));
  return { userId, head: emptyHead(creditStream(userId), creditAccount) };
}

/** Holds the price of a run, after a purchase where credits are short. */
export function reserve(
  rows: Rows,
  account: Account,
  run: { runId: string; price: number; at: number },
): void {
  const { runId, price, at } = run;
  while (account.head.state.balance.available < price) buy(rows, account, at - 60_000);
  send(
    rows,
    account,
    {
      type: 'Reserve',
      runId,
      credits: price,
      month: new Date(at).toISOString().slice(0, 7),
      limit: -1,
    },
    { commandId: reserveCommandId(runId), correlationId: runId, actor: account.userId, at },
  );
}

/** Ends the hold; the account's version afterwards. */
export function settle(
  rows: Rows,
  account: Account,
  run: { runId: string; settlement: Charge; at: number },
): number {
  const { runId, settlement, at } = run;
  send(
    rows,
    account,
    { type: 'Settle', runId, settlement },
    { commandId: settleCommandId(runId), correlationId: runId, actor: 'system:worker', at },
  );
  return account.head.version;
}

/** The rows of the account's stream, after its last event. */
export function closeAccount(rows: Rows, account: Account): void {
  headRows(rows, creditAccount, account.head);
}

const bought = packageOf('boost-125')!;

function buy(rows: Rows, account: Account, at: number): void {
  const { userId } = account;
  const purchaseId = newId('pur', at);
  const intent = `pi_${randomBytes(12).toString('hex')}`;
  const paymentKey = `pi:${intent}`;
  const lotId = derivedId('lot', paymentKey);
  const time = new Date(at).toISOString();
  send(
    rows,
    account,
    {
      type: 'Grant',
      lotId,
      source: 'purchase',
      purchaseId,
      paymentKey,
      credits: bought.credits,
      paidMinor: bought.price_cents,
      currency: bought.currency,
      grantedAt: time,
      reason: bought.id,
      ifClosed: { refundId: derivedId('ref', lotId), requestedAt: time },
    },
    {
      commandId: grantCommandId(paymentKey),
      correlationId: purchaseId,
      actor: 'system:payments',
      at,
    },
  );
  rows.purchases.push(
    row([
      purchaseId,
      userId,
      bought.id,
      'checkout',
      bought.credits,
      bought.price_cents,
      bought.currency,
      'paid',
      `cs_${intent}`,
      intent,
      paymentKey,
      lotId,
      bought.price_cents,
      0,
      time,
      time,
      time,
    ]),
  );
}

function send(
  rows: Rows,
  account: Account,
  command: CreditCommand,
  cause: Omit<Cause, 'fingerprint'>,
): void {
  appendRows(
    rows,
    creditAccount,
    account.head,
    { ...cause, fingerprint: fingerprintOf(command) },
    decide(command, account.head.state),
  );
}
