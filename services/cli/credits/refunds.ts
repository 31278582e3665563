import { findUser } from '#services/identity/accounts/users.ts';
import { askForRefund } from '#services/payments/refunds/ask.ts';
import {
  openWarnings,
  settleLeftOver,
  settleWarnings,
} from '#services/payments/disputes/fraud-warnings.ts';
import { moneyText } from '#services/platform/numbers.ts';
import { bookPaidOtherwise } from '#services/payments/purchases/paid-otherwise.ts';
import { findPurchase } from '#services/payments/purchases/rows.ts';
import { newId } from '#services/platform/ids.ts';
import { paymentsOf } from '#services/core.ts';
import {
  operatorName,
  printResult,
  required,
  table,
  text,
  UsageError,
} from '#services/cli/command.ts';
import type { CliCall, CliCommand } from '#services/cli/command.ts';
import { personNamed } from '#services/cli/database.ts';
import { reasonOf } from '#services/cli/people/reason.ts';

/** What operators do with payments. Each use is written to the audit log, with the operator's name. */
const warnings: CliCommand = {
  noun: 'credits',
  verb: 'warnings',
  arguments: '',
  summary: 'Lists open fraud warnings from the card network.',
  options: {
    keep: {
      type: 'string',
      help: "Close this purchase's warnings, or one warning that has no purchase, without a refund",
    },
  },
  async run(call) {
    const keep = text(call, 'keep');
    return keep === undefined ? listWarnings(call) : keepPurchase(call, keep);
  },
};

async function listWarnings(call: CliCall): Promise<number> {
  const open = await openWarnings(call.database);
  const columns = ['id', 'purchase_id', 'user_id', 'fraud_type', 'created_at'] as const;
  printResult(
    call,
    open,
    table([
      [...columns, 'unused'],
      ...open.map((warning) => [
        ...columns.map((name) => warning[name] ?? '-'),
        `${warning.unused_credits}/${warning.granted_credits}`,
      ]),
    ]),
  );
  return 0;
}

/** `purchaseId` is the id of a warning where the payment was never granted. */
async function keepPurchase(call: CliCall, purchaseId: string): Promise<number> {
  const { pool, audit, clock } = call.database;
  const settled = (await settleLeftOver(pool, purchaseId))
    ? 1
    : await settleWarnings(pool, purchaseId, 'kept', new Date(clock()));
  if (settled === 0) throw new UsageError('This purchase has no open warning');
  await audit({
    actor: operatorName(),
    action: 'purchase.warnings-kept',
    subject: purchaseId,
    detail: { settled },
  });
  printResult(call, { purchase_id: purchaseId, settled }, [`${settled} closed.`]);
  return 0;
}

const refund: CliCommand = {
  noun: 'credits',
  verb: 'refund',
  arguments: '<purchase id>',
  summary: "Refunds a purchase's unused credits, however old it is. A worker sends the refund.",
  options: {
    reason: { type: 'string', help: "Reason (kept in the audit log, so don't name anyone)" },
    'paid-otherwise': {
      type: 'boolean',
      help: 'Records that an erased person was paid another way',
    },
  },
  async run(call) {
    const { pool } = call.database;
    const purchaseId = required(call, 0, 'purchase id');
    const given = text(call, 'reason')?.trim();
    if (!given) throw new UsageError('Missing: --reason');
    const purchase = await findPurchase(pool, { purchaseId });
    if (purchase === null) throw new UsageError('Purchase not found');
    const { user_id: userId } = purchase;
    // An erased person has no name that the reason could contain.
    const named = { purchaseId, userId, reason: reasonOf(given, await findUser(pool, userId)) };
    return call.options['paid-otherwise'] === true
      ? paidOtherwise(call, named)
      : refundPurchase(call, named);
  },
};

type Refunding = { purchaseId: string; userId: string; reason: string };

async function refundPurchase(
  call: CliCall,
  { purchaseId, userId, reason }: Refunding,
): Promise<number> {
  const { database } = call;
  const { pool, audit, clock } = database;
  const operator = operatorName();
  const isWarned = (await openWarnings(database)).some(
    (warning) => warning.purchase_id === purchaseId,
  );
  const asked = await askForRefund(paymentsOf(database), {
    userId,
    purchaseId,
    refundId: newId('ref', clock()),
    agreed: null,
    reason: isWarned ? 'fraud_warning' : 'operator',
    actor: operator,
  });
  const settled = await settleWarnings(pool, purchaseId, 'refunded', new Date(clock()));
  await audit({
    actor: operator,
    action: 'purchase.refunded',
    subject: purchaseId,
    userId,
    detail: {
      refund: asked.id,
      credits: asked.credits,
      amount_minor: asked.amount_cents,
      reason,
    },
  });
  printResult(call, { ...asked, purchase_id: purchaseId, warnings_settled: settled }, [
    `${moneyText(asked.amount_cents, asked.currency)} for ${asked.credits} credits is on its way (${asked.id}).`,
    ...(settled === 0 ? [] : [`${settled} warnings closed.`]),
  ]);
  return 0;
}

async function paidOtherwise(
  call: CliCall,
  { purchaseId, userId, reason }: Refunding,
): Promise<number> {
  const { database } = call;
  const actor = operatorName();
  const { credits, amountMinor, currency } = await bookPaidOtherwise(database, {
    userId,
    purchaseId,
    actor,
  });
  await database.audit({
    actor,
    action: 'purchase.paid-otherwise',
    subject: purchaseId,
    userId,
    detail: { credits, amount_minor: amountMinor, reason },
  });
  printResult(call, { purchase_id: purchaseId, credits, amount_cents: amountMinor, currency }, [
    `Recorded as paid: ${moneyText(amountMinor, currency)} for ${credits} credits.`,
  ]);
  return 0;
}

const unfreeze: CliCommand = {
  noun: 'credits',
  verb: 'unfreeze',
  arguments: '<email|user id>',
  summary: 'Unfreezes an account whose payment was returned twice.',
  options: {
    reason: { type: 'string', help: "Reason (kept in the audit log, so don't name anyone)" },
  },
  async run(call) {
    const { database } = call;
    const person = await personNamed(database, required(call, 0, 'email address'));
    const given = text(call, 'reason')?.trim();
    if (!given) throw new UsageError('Missing: --reason');
    const reason = reasonOf(given, person);
    const actor = operatorName();
    const lifted = await database.ledger.unfreezeSpending({ userId: person.id, actor });
    if (lifted === 0) throw new UsageError('This account is not frozen');
    await database.audit({
      actor,
      action: 'credits.unfrozen',
      subject: person.id,
      userId: person.id,
      detail: { lifted, reason },
    });
    printResult(call, { user_id: person.id, lifted }, ['The account can spend credits again.']);
    return 0;
  },
};

export const creditRefundCommands: readonly CliCommand[] = [warnings, refund, unfreeze];
