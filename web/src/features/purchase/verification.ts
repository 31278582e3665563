import type { Balance } from '#services/credits/contract.ts';
import type { CheckoutState } from '#services/payments/contract.ts';
import { ApiProblem } from '#web/api/api.ts';
import { problemSentence } from '#web/api/problem-words.ts';
import { credits, creditsInWords } from '#services/platform/numbers.ts';

/** The words of the page after a payment. Each says whether money may have moved. */

export const noSession = {
  title: 'No session ID provided',
  sentence:
    'This link is incomplete: it does not name a checkout. If you have just paid, your credits arrive automatically, and the credits page shows them.',
} as const;

/** Why a checkout could not be checked. */
export function verificationFailure(error: unknown): string {
  if (error instanceof ApiProblem && error.status === 404) {
    return 'No such checkout belongs to this account. If you have paid, the credits are on the account that you were signed in to then.';
  }
  return `${problemSentence(error)} If you have paid, your credits arrive automatically; please do not pay again before you have checked your credits.`;
}

export type Stage = 'done' | 'pending' | 'over';

type Words = {
  readonly stage: Stage;
  readonly heading: string;
  readonly title: string;
  readonly sentence: string;
};

/** What to say about a checkout, by its outcome. */
export function wordsOf({
  status,
  credits: bought,
  package_name: name,
  kind,
  receipt_by_email: hasMail,
}: Pick<
  CheckoutState,
  'status' | 'credits' | 'package_name' | 'kind' | 'receipt_by_email'
>): Words {
  switch (status) {
    case 'paid':
      return {
        stage: 'done',
        heading: 'Purchase complete',
        title: `${creditsInWords(bought)} added`,
        sentence:
          kind === 'monthly'
            ? `Your plan ${name} has begun.${hasMail ? ' We email you a receipt.' : ''}`
            : `${name} is paid.${hasMail ? ' We email you a receipt.' : ''}`,
      };
    case 'processing':
      return {
        stage: 'pending',
        heading: 'Almost there',
        title: 'Your bank is still confirming',
        sentence: `Your payment for ${name} is on its way; this can take a moment, and with some ways to pay a few days. You can leave this page: the ${creditsInWords(bought)} are added automatically once it is confirmed${hasMail ? ', and we email you a receipt' : ''}.`,
      };
    case 'open':
      return {
        stage: 'pending',
        heading: 'Not paid yet',
        title: 'This checkout is still open',
        sentence: `We have not heard of a payment for ${name}, so nothing is known to have been charged. This page checks again automatically. If you have paid, wait a moment and do not pay again.`,
      };
    case 'failed':
      return {
        stage: 'over',
        heading: 'Payment failed',
        title: 'The payment did not go through',
        sentence: `Your bank or card refused the payment for ${name}. Nothing was charged, and no credits were added.`,
      };
    case 'expired':
      return {
        stage: 'over',
        heading: 'Checkout expired',
        title: 'This checkout was not completed',
        sentence: `The payment page for ${name} has closed without a payment. Nothing was charged.`,
      };
  }
}

/** How much of the credits settled a debt, and what is still owed; empty without a debt. */
export function debtSentence(
  { credits: bought, settled_credits: settled }: Pick<CheckoutState, 'credits' | 'settled_credits'>,
  { debt_credits: debt }: Pick<Balance, 'debt_credits'>,
): string {
  const went =
    settled === 0
      ? ''
      : settled >= bought
        ? 'All of them settled what your account owed.'
        : `${creditsInWords(settled)} of them settled what your account owed; ${creditsInWords(bought - settled)} ${bought - settled === 1 ? 'was' : 'were'} left to use.`;
  const owed =
    debt === 0
      ? ''
      : `Your account ${settled === 0 ? '' : 'still '}owes ${creditsInWords(debt)}, and no optimization can start before ${debt === 1 ? 'that is' : 'they are'} settled.`;
  return [went, owed].filter(Boolean).join(' ');
}

/** The toast after a purchase. */
export function purchasedSentence(bought: number): string {
  return `Successfully purchased ${credits(bought)} credits! Your balance has been updated.`;
}
