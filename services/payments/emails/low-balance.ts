import type pg from 'pg';
import { inTransaction } from '#db/transaction.ts';
import { readBalance } from '#projections/credit-account.ts';
import { ErasedKeyError } from '#services/platform/seal.ts';
import { paymentLimits } from '#services/payments/contract.ts';
import type { PaymentDependencies } from '#services/payments/dependencies.ts';
import type { EmailContent } from '#services/platform/mail/layout.ts';
import { credits as inCredits } from './words.ts';

/** A reminder says the same for a week. */
const everyMs = 7 * 86_400_000;
const kind = 'low-balance';

export type LowBalance = { available: number; productName: string; publicUrl: string };

export function lowBalanceEmail({ available, productName, publicUrl }: LowBalance): EmailContent {
  return {
    subject: available === 0 ? 'You have no credits left' : `You have ${inCredits(available)} left`,
    paragraphs: [
      `Your ${productName} account has ${available === 0 ? 'no credits' : inCredits(available)} left. You always see a run's price before it starts.`,
      'Credits you buy never expire.',
    ],
    action: { label: 'Buy More Credits', url: `${publicUrl}/credits/purchase` },
    closing: [
      `We send this when you have fewer than ${paymentLimits.lowBalance} credits, at most once a week. Turn it off under Emails and notifications in your Account Settings: ${publicUrl}/profile`,
    ],
  };
}

/**
 * The job behind a balance that has fallen below the line: it looks again, since credits may have been
 * bought meanwhile, and writes at most once a week. The person's row is locked, so that two jobs at
 * once do not both find that nothing was written.
 */
export async function mailLowBalance(
  dependencies: PaymentDependencies,
  { userId }: { userId: string },
): Promise<void> {
  const { pool, noticeAddress, queueMail } = dependencies;
  const { available_credits: available } = await readBalance(pool, userId);
  if (available >= paymentLimits.lowBalance) return;
  const to = await noticeAddress(userId);
  if (to === null) return;
  try {
    await inTransaction(pool, async (client) => {
      if (!(await isWanted(client, userId))) return;
      if (await wasWritten(client, userId, dependencies.clock())) return;
      const content = lowBalanceEmail({ ...dependencies, available });
      await queueMail({ userId, to, kind, content }, client);
    });
  } catch (error) {
    if (!(error instanceof ErasedKeyError)) throw error;
  }
}

async function isWanted(client: pg.ClientBase, userId: string): Promise<boolean> {
  const { rowCount } = await client.query(
    'select from users where id = $1 and notify_low_balance for update',
    [userId],
  );
  return rowCount !== 0;
}

/** Rows of mails are kept for longer than this. */
async function wasWritten(client: pg.ClientBase, userId: string, nowMs: number): Promise<boolean> {
  const { rowCount } = await client.query(
    'select from mail where user_id = $1 and kind = $2 and created_at > $3 limit 1',
    [userId, kind, new Date(nowMs - everyMs)],
  );
  return rowCount !== 0;
}
