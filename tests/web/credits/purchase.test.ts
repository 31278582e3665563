import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { packages } from '#services/payments/catalogue.ts';
import type { Package, Plan } from '#services/payments/contract.ts';
import { ApiProblem } from '#web/api/api.ts';
import {
  heldPlan,
  type HeldPlan,
  limitSentence,
  planProblem,
  questionOf,
  statusWords,
} from '#web/features/plan/words.ts';
import { NoCheckoutAddress } from '#web/features/purchase/queries.ts';
import { refusalOf } from '#web/features/purchase/refusal.ts';
import { firstStrategy, worthInWords, worthOf } from '#web/features/purchase/runs.ts';
import {
  debtSentence,
  purchasedSentence,
  verificationFailure,
  wordsOf,
} from '#web/features/purchase/verification.ts';
import { providerAddress } from '#web/app/provider-page.ts';

const packageOf = (id: string): Package => {
  const found = packages.find((one) => one.id === id);
  if (!found) throw new Error(`No package ${id}`);
  return found;
};
const balanced = { id: 'balanced', name: 'Balanced', credits: 14, recommended: true };
const fast = { id: 'fast', name: 'Fast', credits: 4, recommended: false };
const problem = (status: number, code: string) =>
  new ApiProblem({ status, code, message: `internal words of ${code}` });

describe('what a package is worth', () => {
  it.each([
    ['opportunity-finder', balanced, 'Pays for 2 Fast runs', '4 credits short of one Balanced run'],
    ['opportunity-finder', fast, '2 runs, $2 per run', 'with 2 credits left over'],
    ['boost-20', balanced, '1 run, $7 per run', 'with 6 credits left over'],
    ['boost-20', fast, '5 runs, $2 per run', null],
    ['boost-125', balanced, '8 runs, $5.60 per run', 'with 13 credits left over'],
    ['empire-builder', balanced, '28 runs, $5.25 per run', 'with 8 credits left over'],
  ] as const)('the package %s is worth runs of %o', (id, strategy, main, rest) => {
    expect(worthInWords(packageOf(id), strategy, [fast, balanced], 'en-US')).toEqual({
      main,
      rest,
    });
  });

  it('a package names the dearest strategy it pays, or none', () => {
    const slow = { ...fast, id: 'slow', name: 'Slow', credits: 8 };
    const small = packageOf('opportunity-finder');
    expect(worthInWords(small, balanced, [fast, slow, balanced]).main).toBe('Pays for 1 Slow run');
    expect(worthInWords(small, balanced, [balanced])).toEqual({
      main: '4 credits short of one Balanced run',
      rest: null,
    });
  });

  it('a package never promises more runs than its credits pay for', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 10_000 }),
        fc.integer({ min: 1, max: 1_000_000 }),
        fc.integer({ min: 1, max: 500 }),
        (credits, price_cents, perRun) => {
          const { runs, left } = worthOf({ credits, price_cents }, perRun);
          return runs * perRun + left === credits && left >= 0 && left < perRun;
        },
      ),
    );
  });

  it('packages are counted in the recommended strategy, else in the first', () => {
    expect(firstStrategy([fast, balanced])).toBe(balanced);
    expect(firstStrategy([fast])).toBe(fast);
    expect(firstStrategy([])).toBeNull();
  });
});

describe('the address of the payment page', () => {
  it.each(['https://pay.example/c/1', 'http://127.0.0.1:4242/dev/stripe/checkout/1'])(
    'the address of the payment page may be %s',
    (address) => {
      expect(providerAddress(address)).toBe(address);
    },
  );

  it.each([
    undefined,
    null,
    '',
    '/credits',
    'javascript:alert(1)',
    'data:text/html,x',
    'file:///x',
  ])('the address of the payment page is never %s', (address) => {
    expect(providerAddress(address)).toBeNull();
  });
});

describe('why the payment page did not open', () => {
  it.each([
    [new NoCheckoutAddress(), /^No checkout URL received from server/, 'again'],
    [problem(503, 'payments-unavailable'), /^You can't buy credits right now/, 'none'],
    [problem(503, 'payment-provider'), /try again in a moment/, 'again'],
    [problem(409, 'plan-exists'), /^You already have a plan/, 'plan'],
    [problem(400, 'unknown-package'), /no longer offer/, 'packages'],
    [problem(500, 'internal'), /^Something went wrong on our side/, 'again'],
    [problem(0, 'network'), /^We couldn't connect/, 'again'],
  ] as const)('a payment page that did not open is explained for %s', (error, words, next) => {
    const refusal = refusalOf(error);
    expect(refusal.sentence).toMatch(words);
    expect(refusal.sentence).not.toContain('internal words');
    expect(refusal.next).toBe(next);
  });
});

describe('the words after a payment', () => {
  const of = {
    credits: 1_250,
    package_name: 'Boost 50',
    kind: 'one_time',
    receipt_by_email: true,
  } as const;

  it('a paid checkout shows the specified sentence', () => {
    expect(purchasedSentence(50)).toBe(
      'Successfully purchased 50 credits! Your balance has been updated.',
    );
  });

  it.each([
    [0, 0, ''],
    [20, 0, '20 credits of them went toward the credits you owed, leaving 1,230 credits to use.'],
    [
      1_250,
      7,
      'All of them went toward the credits you owed. You still owe 7 credits. Settle them to start an optimization.',
    ],
    [0, 1, 'You owe 1 credit. Settle it to start an optimization.'],
  ])(
    'the page says that %i credits settled a debt of which %i are left',
    (settled_credits, debt_credits, words) => {
      expect(debtSentence({ ...of, settled_credits }, { debt_credits })).toBe(words);
    },
  );

  it.each([
    ['paid', 'done'],
    ['processing', 'pending'],
    ['open', 'pending'],
    ['failed', 'over'],
    ['expired', 'over'],
  ] as const)('the page knows whether the state %s is decided', (status, stage) => {
    expect(wordsOf({ ...of, status }).stage).toBe(stage);
  });

  it.each(['open', 'failed', 'expired'] as const)(
    'the page says for the state %s whether money may have moved',
    (status) => {
      expect(wordsOf({ ...of, status }).sentence).toMatch(/charged|haven't received a payment/);
    },
  );

  it('a checkout of another account is reported as such', () => {
    expect(verificationFailure(problem(404, 'not-found'))).toContain(
      'the account you were signed in to',
    );
    expect(verificationFailure(problem(500, 'internal'))).toContain(
      'check your credits before paying again',
    );
  });
});

describe('the words of a plan', () => {
  const plan: HeldPlan = {
    package_id: 'side-gig-builder',
    package_name: 'Side-Gig Builder',
    status: 'active',
    credits: 50,
    amount_cents: 2_500,
    currency: 'usd',
    current_period_end: '2026-12-20T12:00:00.000Z',
    due_cents: null,
    grace_until: null,
    next_package_id: null,
  };
  const said = (change: Partial<HeldPlan>, next: Package | null = null) =>
    statusWords({ ...plan, ...change }, next, 'en-US');

  it.each([
    [{}, null, 'Active', 'Renews on December 20, 2026: $25 for 50 credits.'],
    [
      {},
      packageOf('empire-builder'),
      'Active',
      'Changes to Empire Builder on December 20, 2026: $150 a month for 400 credits.',
    ],
    [
      { status: 'past_due', due_cents: 15_000, grace_until: '2026-11-27T12:00:00.000Z' },
      null,
      'Payment failed',
      "Your last payment of $150 didn't go through. You keep the plan and its limit until November 27, 2026. Update your card to keep them longer.",
    ],
    [
      { status: 'cancelling' },
      null,
      'Canceled',
      "Ends on December 20, 2026. You won't be charged again, and you keep your credits.",
    ],
    [{ status: 'ended' }, null, 'Ended', 'It ended on December 20, 2026.'],
  ] as const)('the plan is described for %o', (change, next, word, sentence) => {
    expect(said(change, next)).toMatchObject({ word, sentence });
  });

  it('an unknown date is never guessed', () => {
    for (const status of ['active', 'past_due', 'cancelling', 'ended'] as const)
      expect(said({ status, current_period_end: null }).sentence).not.toMatch(/20\d\d|Invalid/);
  });

  it('every question about a plan names amount and date', () => {
    const changes = [
      { action: 'change', to: packageOf('empire-builder') },
      { action: 'keep', insteadOf: packageOf('empire-builder') },
      { action: 'cancel' },
      { action: 'resume' },
    ] as const;
    for (const change of changes) {
      const words = questionOf(change, plan, 'en-US').sentences.join(' ');
      expect(words).toContain('$25');
      expect(words).toContain('December 20, 2026');
    }
    expect(questionOf(changes[0], plan, 'en-US').sentences[0]).toContain('$150');
  });

  it.each(['cancel', 'resume'] as const)('a %s says when it drops a pending change', (action) => {
    const changing = { ...plan, next_package_id: 'empire-builder' };
    const dropped = 'Your scheduled change is canceled.';
    expect(questionOf({ action }, changing, 'en-US').sentences).toContain(dropped);
    expect(questionOf({ action }, plan, 'en-US').sentences).not.toContain(dropped);
  });

  it('the button that leaves a question names no action', () => {
    for (const action of ['cancel', 'resume'] as const)
      expect(questionOf({ action }, plan).keep).toBe('Never mind');
    for (const action of ['change', 'keep'] as const) {
      const other = packageOf('empire-builder');
      expect(questionOf({ action, to: other, insteadOf: other }, plan).keep).toBe('Never mind');
    }
  });

  it('an unpaid plan ends at once when it is cancelled', () => {
    const unpaid = { ...plan, status: 'past_due', due_cents: 15_000 } as const;
    const [sentence] = questionOf({ action: 'cancel' }, unpaid, 'en-US').sentences;
    expect(sentence).toContain('right away');
    expect(sentence).toContain('$150');
    expect(sentence).not.toContain('$25');
  });

  it('an ended plan counts as none', () => {
    const answer: Plan = { tier: 'free', monthly_limit: 5, plan: { ...plan, status: 'ended' } };
    expect(heldPlan(answer)).toBeNull();
    expect(heldPlan({ ...answer, plan })).toBe(plan);
  });

  it('the page says what the limit blocks and what it never blocks', () => {
    expect(limitSentence(5)).toContain('5 runs a month');
    expect(limitSentence(5)).toContain('never blocked');
    expect(limitSentence(-1)).toContain('Unlimited');
  });

  it('no sentence contains internal words', () => {
    for (const code of ['payments-unavailable', 'payment-provider', 'internal'])
      expect(planProblem(problem(503, code))).not.toContain('internal words');
  });
});
