import { ApiProblem } from '#web/api/api.ts';
import { problemSentence } from '#web/api/problem-words.ts';
import { NoCheckoutAddress } from './queries.ts';

/** Why the payment page did not open, and the next step. */
export type Refusal = {
  readonly sentence: string;
  /** `plan`: the plan's page; `packages`: the list is fetched again; `again`: the same button. */
  readonly next: 'again' | 'plan' | 'packages' | 'none';
};

export function refusalOf(error: unknown): Refusal {
  if (error instanceof NoCheckoutAddress) {
    return { sentence: `${error.message}. Please try again.`, next: 'again' };
  }
  switch (error instanceof ApiProblem ? error.code : '') {
    case 'payments-unavailable':
      return {
        sentence:
          'Buying is not available here at the moment. Your credits and runs are not affected; please come back later.',
        next: 'none',
      };
    case 'payment-provider':
      return {
        sentence: 'The payment provider could not be reached. Please try again in a moment.',
        next: 'again',
      };
    case 'plan-exists':
      return {
        sentence: 'You already have a plan. What it becomes when it renews is chosen on its page.',
        next: 'plan',
      };
    case 'unknown-package':
      return {
        sentence: 'This package is no longer offered. The list has been read again.',
        next: 'packages',
      };
    default:
      return { sentence: problemSentence(error), next: 'again' };
  }
}
