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

export type StatusWords = {
  readonly tone: StatusTone;
  readonly word: string;
  /** What happens next, and when. */
  readonly sentence: string;
};

/** A plan's state as a word and a sentence. An unknown date is never guessed. */
export function statusWords(plan: HeldPlan, next: Package | null, locale?: string): StatusWords {
  const ends = plan.current_period_end;
  const on = ends === null ? "at the end of the month you've paid for" : `on ${day(ends, locale)}`;
  const amount = price(plan.amount_cents, locale);
  switch (plan.status) {
    case 'active':
      return {
        tone: 'ok',
        word: 'Active',
        sentence:
          next === null
            ? `Renews ${on}: ${amount} for ${creditsInWords(plan.credits, locale)}.`
            : `Changes to ${next.name} ${on}: ${price(next.price_cents, locale)} a month for ${creditsInWords(next.credits, locale)}.`,
      };
    case 'past_due':
      return {
        tone: 'bad',
        word: 'Payment failed',
        sentence:
          plan.grace_until === null
            ? `Your last payment${missing(plan, locale)} didn't go through.`
            : `Your last payment${missing(plan, locale)} didn't go through. You keep the plan and its limit until ${day(plan.grace_until, locale)}. Update your card to keep them longer.`,
      };
    case 'cancelling':
      return {
        tone: 'warn',
        word: 'Canceled',
        sentence: `Ends ${on}. You won't be charged again, and you keep your credits.`,
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
  if (limit < 0) return 'Unlimited. No run is ever blocked, whichever credits pay for it.';
  return `Bonus credits can pay for up to ${limit} ${limit === 1 ? 'run' : 'runs'} a month. Runs paid with purchased credits are never blocked.`;
}

/** Why a change failed. */
export function planProblem(error: unknown): string {
  switch (error instanceof ApiProblem ? error.code : '') {
    case 'payments-unavailable':
      return "Payments aren't available right now. Please try again later.";
    case 'payment-provider':
      return "We couldn't reach the payment provider. Please try again in a moment.";
    case 'no-plan':
      return 'This plan has ended.';
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

const neverMind = 'Never mind';

const isChanging = ({ package_id: now, next_package_id: next }: HeldPlan): boolean =>
  next !== null && next !== now;

export function questionOf(change: Change, plan: HeldPlan, locale?: string): Question {
  const ends = plan.current_period_end;
  const from = ends === null ? 'from the next renewal' : `from ${day(ends, locale)}`;
  const on = ends === null ? "at the end of the month you've paid for" : `on ${day(ends, locale)}`;
  const amount = price(plan.amount_cents, locale);
  // Another price needs a new consent, and never takes over from a cancelled plan.
  const dropped = isChanging(plan) ? ['Your scheduled change is canceled.'] : [];
  switch (change.action) {
    case 'change': {
      const { name, credits, price_cents: cents } = change.to;
      return {
        title: `Change to ${name}?`,
        sentences: [
          `${upperFirst(from)}, you'll pay ${price(cents, locale)} a month for ${creditsInWords(credits, locale)} instead of ${amount} for ${creditsInWords(plan.credits, locale)}.`,
          "You won't be charged now, and nothing changes until then.",
        ],
        confirm: `Change ${from}`,
        keep: neverMind,
        done: `Your plan changes to ${name} ${on}.`,
      };
    }
    case 'keep':
      return {
        title: `Keep ${plan.package_name}?`,
        sentences: [
          `It renews ${on} unchanged, at ${amount} for ${creditsInWords(plan.credits, locale)}. It won't change to ${change.insteadOf.name}.`,
          "You won't be charged now.",
        ],
        confirm: `Keep ${plan.package_name}`,
        keep: neverMind,
        done: `You keep ${plan.package_name}. It renews ${on}.`,
      };
    case 'cancel':
      if (plan.status === 'past_due') {
        return {
          title: `Cancel ${plan.package_name}?`,
          sentences: [
            `Your last payment${missing(plan, locale)} didn't go through, so the plan ends right away. We won't retry that payment or charge you again.`,
            'You keep your credits, and they never expire.',
          ],
          confirm: 'Cancel plan now',
          keep: neverMind,
          done: "Your plan has ended. You won't be charged again.",
        };
      }
      return {
        title: `Cancel ${plan.package_name}?`,
        sentences: [
          `It ends ${on}. After that, no more ${amount} charges and no more ${creditsInWords(plan.credits, locale)} a month.`,
          ...dropped,
          'You keep your credits, and they never expire.',
        ],
        confirm: 'Cancel plan',
        keep: neverMind,
        done: `Your plan ends ${on}. You won't be charged again.`,
      };
    case 'resume':
      return {
        title: `Resume ${plan.package_name}?`,
        sentences: [
          `It continues without a gap. ${upperFirst(from)}, you'll pay ${amount} a month for ${creditsInWords(plan.credits, locale)} again.`,
          ...dropped,
          "You won't be charged now.",
        ],
        confirm: `Resume for ${amount} a month`,
        keep: neverMind,
        done: `Your plan continues and renews ${on}.`,
      };
  }
}

function upperFirst(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1);
}
