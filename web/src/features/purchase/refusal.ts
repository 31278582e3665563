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
          "You can't buy credits right now. Your credits and runs aren't affected. Please try again later.",
        next: 'none',
      };
    case 'payment-provider':
      return {
        sentence: "We couldn't reach the payment provider. Please try again in a moment.",
        next: 'again',
      };
    case 'plan-exists':
      return {
        sentence: 'You already have a plan. You can change it on the plan page.',
        next: 'plan',
      };
    case 'unknown-package':
      return {
        sentence: 'We no longer offer this package. The list is now up to date.',
        next: 'packages',
      };
    default:
      return { sentence: problemSentence(error), next: 'again' };
  }
}
