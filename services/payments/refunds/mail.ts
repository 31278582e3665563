import type { RefundOffer } from '#services/credits/account/cash-refunds.ts';
import type { Lot } from '#services/credits/account/lots.ts';
import { derivedId } from '#services/platform/ids.ts';
import { ErasedKeyError } from '#services/platform/seal.ts';
import { packageName } from '#services/payments/catalogue.ts';
import type { PaymentDependencies } from '#services/payments/dependencies.ts';
import { moneyText } from '#services/platform/numbers.ts';
import {
  refundAskedEmail,
  refundDoneEmail,
  refundFailedEmail,
} from '#services/payments/emails/refund.ts';
import type { RefundNotice } from '#services/payments/emails/refund.ts';
import { readRefund } from './send.ts';
import type { NamedRefund } from './send.ts';
import type { EmailContent } from '#services/platform/mail/layout.ts';

type Outcome = 'pending' | 'confirmed' | 'failed';

/** Emails the buyer once for each outcome of a refund. An erased account gets none. */
export async function notifyOfRefund(
  dependencies: PaymentDependencies,
  named: NamedRefund,
  outcome: Outcome,
): Promise<void> {
  const { userId, refundId } = named;
  const to = await dependencies.noticeAddress(userId);
  if (to === null) return;
  const { refund, lot } = await readRefund(dependencies, named);
  const offer = dependencies.ledger.refundOffer(
    await dependencies.ledger.readAccount(userId),
    lot,
    dependencies.clock(),
  );
  const notice: RefundNotice = {
    amount: moneyText(refund.amountMinor, refund.currency),
    credits: refund.credits,
    packageName: await packageNameOf(dependencies, lot),
    isOurs: await isOurs(dependencies, named),
    movesMoney: dependencies.movesMoney,
  };
  try {
    await dependencies.queueMail({
      id: derivedId('mai', refundId, outcome),
      userId,
      to,
      kind: `refund-${outcome}`,
      content: emailOf(outcome, notice, { lot, offer }, dependencies),
    });
  } catch (error) {
    if (!(error instanceof ErasedKeyError)) throw error;
  }
}

function emailOf(
  outcome: Outcome,
  notice: RefundNotice,
  now: Standing,
  head: { publicUrl: string },
): EmailContent {
  switch (outcome) {
    case 'pending':
      return refundAskedEmail(notice, head);
    case 'confirmed':
      return refundDoneEmail(notice, head);
    case 'failed':
      return refundFailedEmail({ ...notice, back: backOf(now, notice.credits) }, head);
  }
}

/** What its lot has become, and what can be asked back of it. */
type Standing = { lot: Lot; offer: RefundOffer };

/**
 * A bank that has paid back a part of the payment may have taken some of them as they came back. The
 * rest is as good as before, unless the payment as a whole is in question.
 */
function backOf(
  { lot, offer }: Standing,
  credits: number,
): { credits: number; until: string } | null {
  const isClawedBack = lot.clawbacks.some(({ wanted }) => wanted > 0);
  const back = isClawedBack ? Math.min(credits, lot.available) : credits;
  const isTaken = 'refusal' in offer && offer.refusal === 'taken_back';
  return isTaken || back === 0 || lot.refundableUntil === null
    ? null
    : { credits: back, until: lot.refundableUntil.slice(0, 10) };
}

/** The ledger's event says whether an operator or the person asked. */
async function isOurs(
  { pool }: PaymentDependencies,
  { userId, refundId }: NamedRefund,
): Promise<boolean> {
  const { rowCount } = await pool.query(
    `select from emt_messages
     where stream_id = $1 and message_type = 'CashRefundRequested'
       and message_data ->> 'refundId' = $2 and message_data ->> 'reason' = 'operator'`,
    [`credits-${userId}`, refundId],
  );
  return rowCount !== 0;
}

/** Of what was bought, in the catalogue's words. */
export async function packageNameOf(
  { pool }: PaymentDependencies,
  { purchaseId }: Lot,
): Promise<string> {
  const { rows } = await pool.query<{ package_id: string }>(
    'select package_id from purchase where id = $1',
    [purchaseId],
  );
  const id = rows[0]?.package_id ?? '';
  return packageName(id);
}
