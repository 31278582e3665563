import { describe, expect, it } from 'vitest';
import type { CheckoutState } from '#services/payments/contract.ts';
import { CreditsBadge } from '#web/features/credits/badge.tsx';
import { BalanceTiles } from '#web/features/credits/balance-tiles.tsx';
import { takenBackWords } from '#web/features/credits/purchases/taken-back.ts';
import { balanceQuery } from '#web/features/credits/queries.ts';
import { Insufficient } from '#web/features/optimize/insufficient.tsx';
import { checkoutQuery } from '#web/features/purchase/queries.ts';
import { PurchaseSuccess } from '#web/features/purchase/success.tsx';
import { stateOf } from '#tests/web/support/credit-story.ts';
import { balance } from '#tests/web/support/member-site.ts';
import { wordsOf } from '#tests/web/support/rendered.tsx';

describe('the balance', () => {
  it('reserved, owed and frozen credits are explained only when there are any', () => {
    const plain = wordsOf(<BalanceTiles balance={balance} />);
    expect(plain).toContain('Available Credits 86');
    expect(plain).not.toMatch(/Reserved|Owed|owes|frozen/);
    const indebted = { ...balance, reserved_credits: 14, debt_credits: 3 };
    const words = wordsOf(<BalanceTiles balance={indebted} />);
    expect(words).toContain('Reserved 14 on hold for running optimizations');
    expect(words).toContain('You owe 3 credits');
    expect(words).toContain('Buy credits to settle');
    const frozen = wordsOf(<BalanceTiles balance={{ ...indebted, spending_frozen: true }} />);
    expect(frozen).toContain('Your credits are frozen');
    expect(frozen).not.toContain('Buy credits to settle');
  });
});

describe('the badge in the bar', () => {
  const badgeOf = (change: Partial<typeof balance>) =>
    wordsOf(<CreditsBadge />, [[balanceQuery.queryKey, { ...balance, ...change }]]);

  it('the badge names the state, and offers more credits below 20', () => {
    expect(badgeOf({ available_credits: 20 })).toMatch(/^ 20 credits Running low $/);
    expect(badgeOf({ available_credits: 1 })).toMatch(/^ Buy More Credits +1 credit Running low $/);
  });

  it('the badge shows the credits on hold for running optimizations', () => {
    expect(badgeOf({ available_credits: 72, reserved_credits: 14 })).toContain(
      'Well stocked, 14 reserved',
    );
  });
});

describe('the page after a payment', () => {
  const pageOf = (change: Partial<CheckoutState>, debt = 0): string => {
    const state = stateOf(change);
    return wordsOf(
      <PurchaseSuccess
        sessionId={state.session_id}
        balance={{ ...balance, debt_credits: debt }}
        noteOf={takenBackWords}
        onPaid={() => undefined}
      />,
      [[checkoutQuery(state.session_id).queryKey, state]],
    );
  };

  it('a purchase that settled a debt says how much of it, and what is still owed', () => {
    const settled = pageOf({ settled_credits: 20 });
    expect(settled).toContain(
      '20 credits of them went toward the credits you owed, leaving 30 credits to use.',
    );
    expect(settled).toContain('Start Optimizing');
    const owing = pageOf({ settled_credits: 50 }, 6);
    expect(owing).toContain(
      'All of them went toward the credits you owed. You still owe 6 credits',
    );
    expect(owing).toContain('Settle what you owe');
  });

  it('a receipt by email is announced only when one is sent', () => {
    for (const status of ['processing', 'paid'] as const) {
      expect(pageOf({ status, receipt_by_email: false })).not.toMatch(/mail/i);
      expect(pageOf({ status })).toMatch(/(and email|re emailing) you a receipt/i);
    }
  });

  it.each(['failed', 'expired'] as const)(
    'a checkout that %s says that no money has moved, and offers another',
    (status) => {
      const words = pageOf({ status });
      expect(words).toMatch(/You were(?:n't|n&#x27;t) charged/);
      expect(words).toContain('Choose another package');
    },
  );
});

describe('the panel of a run that cannot be paid', () => {
  const shortage = { required: 14, balance: 86, shortfall: 0, debt: 6, frozen: false };

  it('a debt with enough credits is no shortage', () => {
    const words = wordsOf(<Insufficient shortage={shortage} />);
    expect(words).toContain('Credits owed');
    expect(words).toContain('You owe 6 credits');
    expect(words).not.toContain('short by');
  });

  it('a shortage with a debt names both', () => {
    const words = wordsOf(<Insufficient shortage={{ ...shortage, balance: 10, shortfall: 4 }} />);
    expect(words).toContain('Insufficient Credits');
    expect(words).toContain("You're short by 4 credits.");
    expect(words).toContain('You owe 6 credits');
  });

  it('frozen spending offers no purchase', () => {
    const words = wordsOf(<Insufficient shortage={{ ...shortage, frozen: true }} />);
    expect(words).toContain('Credits Frozen');
    expect(words).not.toContain('Buy More Credits');
  });
});
