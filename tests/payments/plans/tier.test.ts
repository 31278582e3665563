import { describe, expect, test } from 'vitest';
import { tierOf, tierUntil } from '#services/payments/plans/tier.ts';

/** Which tier a person's plans bring, to the millisecond. */
type Plan = Parameters<typeof tierUntil>[0];

const day = 86_400_000;
const begin = Date.UTC(2026, 10, 1);
const end = Date.UTC(2026, 11, 1);

function plan(values: Partial<Plan> = {}): Plan {
  return {
    package_id: 'side-gig-builder',
    status: 'active',
    current_period_end: new Date(end),
    past_due_since: null,
    cancel_at_period_end: false,
    ended_at: null,
    paid_until: new Date(end),
    revoked_at: null,
    ...values,
  };
}

/** The last millisecond of the tier, and the first one without it. */
function around(plans: Plan[], at: number) {
  return [tierOf(plans, at - 1), tierOf(plans, at)];
}

describe('the tier of plans', () => {
  test('the tier of plans is left alone where nothing was ever paid', () => {
    expect(tierOf([], begin)).toBeNull();
    expect(tierOf([plan({ status: 'incomplete', paid_until: null })], begin)).toBeNull();
  });

  test('the tier of plans is that of the package that was paid, the highest of several', () => {
    expect(tierOf([plan()], begin)).toBe('pro');
    const empire = plan({ package_id: 'empire-builder' });
    expect(tierOf([empire, plan()], begin)).toBe('scale');
    expect(tierOf([plan(), { ...empire, revoked_at: new Date(begin) }], begin)).toBe('pro');
  });

  test('the tier of plans stays for seven days after a payment failed, to the millisecond', () => {
    for (const status of ['past_due', 'unpaid'] as const) {
      const since = new Date(end + 3_600_000);
      const overdue = plan({ status, past_due_since: since });
      expect(around([overdue], since.getTime() + 7 * day)).toEqual(['pro', 'free']);
    }
  });

  test('the tier of plans stays to the end of the period that was paid when it was cancelled, and no longer', () => {
    expect(around([plan({ cancel_at_period_end: true })], end)).toEqual(['pro', 'free']);
    const ended = plan({ status: 'canceled', ended_at: new Date(begin + day) });
    expect(around([ended], end)).toEqual(['pro', 'free']);
  });

  test('the tier of plans is over when the provider says that it has ended with its period, also ahead of our clock', () => {
    const ended = plan({ status: 'canceled', ended_at: new Date(end) });
    expect(tierOf([ended], begin)).toBe('free');
  });

  test('the tier of plans waits seven days for a renewal', () => {
    const renewed = plan({ current_period_end: new Date(end + 31 * day) });
    expect(around([renewed], end + 7 * day)).toEqual(['pro', 'free']);
  });

  test('the tier of plans is over at once when we ended the plan', () => {
    const revoked = plan({ revoked_at: new Date(begin) });
    expect([tierOf([revoked], begin), tierUntil(revoked)]).toEqual(['free', null]);
  });

  test('the tier of an overdue plan that then ended is over, since nothing more was paid', () => {
    const ended = plan({
      status: 'canceled',
      past_due_since: new Date(end),
      ended_at: new Date(end + 2 * day),
    });
    expect(tierOf([ended], end + 2 * day)).toBe('free');
  });
});
