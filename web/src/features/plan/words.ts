import type { Package, Plan } from '#services/payments/contract.ts';
import { ApiProblem } from '#web/api/api.ts';
import { problemSentence } from '#web/api/problem-words.ts';
import { day } from '#web/ui/text/day.ts';
import { creditsInWords } from '#services/platform/numbers.ts';
import { price } from '#web/ui/text/figures.ts';
import type { StatusTone } from '#web/ui/feedback/status.tsx';

export type HeldPlan = NonNullable<Plan['plan']>;

/** The plan, unless it has ended. */
export function heldPlan(plan: Plan): HeldPlan | null {
  return plan.plan === null || plan.plan.status === 'ended' ? null : plan.plan;
}

export const tierWords: Readonly<Record<Plan['tier'], string>> = {
  free: 'Free Plan',
  pro: 'Pro Plan',
  scale: 'Scale Plan',
};

export type StatusWords = {
  readonly tone: StatusTone;
  readonly word: string;
  /** What happens next, and when. */
  readonly sentence: string;
};

/** A plan's state as a word and a sentence. An unknown date is never guessed. */
export function statusWords(plan: HeldPlan, next: Package | null, locale?: string): StatusWords {
  const ends = plan.current_period_end;
  const on = ends === null ? 'at the end of the month that is paid' : `on ${day(ends, locale)}`;
  const amount = price(plan.amount_cents, locale);
  switch (plan.status) {
    case 'active':
      return {
        tone: 'ok',
        word: 'Active',
        sentence:
          next === null
            ? `Renews ${on}: ${amount} for ${creditsInWords(plan.credits, locale)}.`
            : `Becomes ${next.name} ${on}: ${price(next.price_cents, locale)} for ${creditsInWords(next.credits, locale)} a month.`,
      };
    case 'past_due':
      return {
        tone: 'bad',
        word: 'Payment failed',
        sentence:
          plan.grace_until === null
            ? `The last payment${missing(plan, locale)} did not go through.`
            : `The last payment${missing(plan, locale)} did not go through. The plan and its limit stay until ${day(plan.grace_until, locale)}; a card that works keeps them.`,
      };
    case 'cancelling':
      return {
        tone: 'warn',
        word: 'Cancelled',
        sentence: `Ends ${on}. Nothing more is charged; your credits stay yours.`,
      };
    case 'ended':
      return {
        tone: 'neutral',
        word: 'Ended',
        sentence: ends === null ? 'It has ended.' : `It ended on ${day(ends, locale)}.`,
      };
  }
}

/** The open invoice may be for another package than the plan's. */
function missing({ due_cents: due }: HeldPlan, locale: string | undefined): string {
  return due === null ? '' : ` of ${price(due, locale)}`;
}

/** The monthly limit, and what it blocks. */
export function limitSentence(limit: number): string {
  if (limit < 0) return 'Unlimited: whatever credits pay for a run, nothing is blocked.';
  return `Bonus credits may pay for ${limit} ${limit === 1 ? 'run' : 'runs'} a month. Runs that purchased credits pay for are never blocked.`;
}

/** Why a change failed. */
export function planProblem(error: unknown): string {
  switch (error instanceof ApiProblem ? error.code : '') {
    case 'payments-unavailable':
      return 'Payments are not available here at the moment. Please come back later.';
    case 'payment-provider':
      return 'The payment provider could not be reached. Please try again in a moment.';
    case 'no-plan':
      return 'There is no plan any more.';
    default:
      return problemSentence(error);
  }
}

export type Change =
  | { readonly action: 'change'; readonly to: Package }
  /** Undoes a change that has not taken effect. */
  | { readonly action: 'keep'; readonly insteadOf: Package }
  | { readonly action: 'cancel' }
  | { readonly action: 'resume' };

/** A confirmation that names amount and date. */
export type Question = {
  readonly title: string;
  readonly sentences: readonly string[];
  readonly confirm: string;
  /** The button that changes nothing. It never names an action. */
  readonly keep: string;
  /** Shown when it is done. */
  readonly done: string;
};

const notNow = 'Not now';

const isChanging = ({ package_id: now, next_package_id: next }: HeldPlan): boolean =>
  next !== null && next !== now;

export function questionOf(change: Change, plan: HeldPlan, locale?: string): Question {
  const ends = plan.current_period_end;
  const from = ends === null ? 'from the next renewal' : `from ${day(ends, locale)}`;
  const on = ends === null ? 'at the end of the month that is paid' : `on ${day(ends, locale)}`;
  const amount = price(plan.amount_cents, locale);
  // Another price needs a new consent, and never takes over from a cancelled plan.
  const dropped = isChanging(plan) ? ['The change that was planned is dropped.'] : [];
  switch (change.action) {
    case 'change': {
      const { name, credits, price_cents: cents } = change.to;
      return {
        title: `Change to ${name}?`,
        sentences: [
          `${upperFirst(from)} you pay ${price(cents, locale)} a month for ${creditsInWords(credits, locale)}, instead of ${amount} for ${creditsInWords(plan.credits, locale)}.`,
          'Nothing is charged now, and until then nothing changes.',
        ],
        confirm: `Change ${from}`,
        keep: notNow,
        done: `The plan becomes ${name} ${from}.`,
      };
    }
    case 'keep':
      return {
        title: `Keep ${plan.package_name}?`,
        sentences: [
          `It renews ${on} as it is, ${amount} for ${creditsInWords(plan.credits, locale)}, and does not become ${change.insteadOf.name}.`,
          'Nothing is charged now.',
        ],
        confirm: `Keep ${plan.package_name}`,
        keep: notNow,
        done: `The plan stays ${plan.package_name} and renews ${on}.`,
      };
    case 'cancel':
      if (plan.status === 'past_due') {
        return {
          title: `Cancel ${plan.package_name}?`,
          sentences: [
            `It ends at once, because its last payment${missing(plan, locale)} is missing. That payment is not tried again, and nothing more is charged.`,
            'Credits that you have stay yours and never expire.',
          ],
          confirm: 'Cancel the plan now',
          keep: notNow,
          done: 'The plan has ended. Nothing more is charged.',
        };
      }
      return {
        title: `Cancel ${plan.package_name}?`,
        sentences: [
          `It ends ${on}. The ${amount} a month are not charged again, and the ${creditsInWords(plan.credits, locale)} a month stop.`,
          ...dropped,
          'Credits that you have stay yours and never expire.',
        ],
        confirm: 'Cancel the plan',
        keep: notNow,
        done: `The plan ends ${on}. Nothing more is charged.`,
      };
    case 'resume':
      return {
        title: `Resume ${plan.package_name}?`,
        sentences: [
          `It continues without a gap: ${from} you pay ${amount} a month for ${creditsInWords(plan.credits, locale)} again.`,
          ...dropped,
          'Nothing is charged now.',
        ],
        confirm: `Resume for ${amount} a month`,
        keep: notNow,
        done: `The plan continues and renews ${on}.`,
      };
  }
}

function upperFirst(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1);
}
