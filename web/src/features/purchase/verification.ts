import type { Balance } from '#services/credits/contract.ts';
import type { CheckoutState } from '#services/payments/contract.ts';
import { ApiProblem } from '#web/api/api.ts';
import { problemSentence } from '#web/api/problem-words.ts';
import { credits, creditsInWords } from '#services/platform/numbers.ts';

/** The words of the page after a payment. Each says whether money may have moved. */

export const noSession = {
  title: 'No session ID provided',
  sentence:
    "This link doesn't say which checkout to show. If you just paid, your credits will arrive on their own. Check the credits page.",
} as const;

/** Why a checkout could not be checked. */
export function verificationFailure(error: unknown): string {
  if (error instanceof ApiProblem && error.status === 404) {
    return "This checkout isn't on this account. If you paid, the credits went to the account you were signed in to.";
  }
  return `${problemSentence(error)} If you've paid, your credits will arrive on their own. Please check your credits before paying again.`;
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
            ? `Your ${name} plan has started.${hasMail ? " We're emailing you a receipt." : ''}`
            : `You bought ${name}.${hasMail ? " We're emailing you a receipt." : ''}`,
      };
    case 'processing':
      return {
        stage: 'pending',
        heading: 'Almost there',
        title: 'Your bank is still confirming',
        sentence: `Your payment for ${name} is being confirmed. This usually takes a moment, or a few days with some payment methods. You can leave this page. We'll add your ${creditsInWords(bought)} once it's confirmed${hasMail ? ' and email you a receipt' : ''}.`,
      };
    case 'open':
      return {
        stage: 'pending',
        heading: 'Not paid yet',
        title: 'This checkout is still open',
        sentence: `We haven't received a payment for ${name} yet. This page keeps checking. If you've paid, wait a moment and don't pay again.`,
      };
    case 'failed':
      return {
        stage: 'over',
        heading: 'Payment failed',
        title: "Your payment didn't go through",
        sentence: `Your bank or card declined the payment for ${name}. You weren't charged, and no credits were added.`,
      };
    case 'expired':
      return {
        stage: 'over',
        heading: 'Checkout expired',
        title: "You didn't finish this checkout",
        sentence: `Checkout for ${name} closed before you paid. You weren't charged.`,
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
        ? 'All of them went toward the credits you owed.'
        : `${creditsInWords(settled)} of them went toward the credits you owed, leaving ${creditsInWords(bought - settled)} to use.`;
  const owed =
    debt === 0
      ? ''
      : `You ${settled === 0 ? '' : 'still '}owe ${creditsInWords(debt)}. Settle ${debt === 1 ? 'it' : 'them'} to start an optimization.`;
  return [went, owed].filter(Boolean).join(' ');
}

/** The toast after a purchase. */
export function purchasedSentence(bought: number): string {
  return `Successfully purchased ${credits(bought)} credits! Your balance has been updated.`;
}
