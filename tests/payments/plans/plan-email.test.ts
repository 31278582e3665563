import { expect, test } from 'vitest';
import { planMovedEmail, planPaymentFailedEmail } from '#services/payments/emails/plan.ts';

const failed = {
  packageName: 'Side-Gig Builder',
  amountMinor: 2_500,
  currency: 'usd',
  keptUntil: new Date('2026-12-09T10:00:00.000Z'),
  productName: 'Sevenfold',
  publicUrl: 'https://sevenfold.test',
  movesMoney: true,
};

test('a failed payment of a plan names the amount, how long the plan’s benefits stay, and where to repair it', () => {
  const email = planPaymentFailedEmail(failed);
  const words = email.paragraphs.join(' ');
  expect(words).toContain('Your $25.00 payment for the Side-Gig Builder plan');
  expect(words).toContain('stay until December 9, 2026 (UTC)');
  expect(words).not.toContain('test payments');
  expect(email.action?.url).toBe('https://sevenfold.test/credits/plan');
});

test('the email of a failed payment does not promise what has ended, and says when no money moves', () => {
  const words = planPaymentFailedEmail({
    ...failed,
    keptUntil: null,
    movesMoney: false,
  }).paragraphs.join(' ');
  expect(words).toContain('benefits have ended');
  expect(words).toContain('test payments');
});

const moved = {
  action: 'plan.changed',
  packageName: 'Side-Gig Builder',
  nextName: 'Empire Builder',
  amountMinor: 15_000,
  currency: 'usd',
  until: new Date('2026-12-09T10:00:00.000Z'),
  productName: 'Sevenfold',
  publicUrl: 'https://sevenfold.test',
  movesMoney: true,
} as const;

test('a changed plan names what it becomes, when, and for how much', () => {
  const email = planMovedEmail(moved);
  expect(email.subject).toBe('Your plan is changing to Empire Builder');
  expect(email.paragraphs).toEqual([
    'You changed your plan on Sevenfold. It renews on December 9, 2026 (UTC) as Empire Builder, at $150.00 a month plus tax where it applies.',
  ]);
  expect(email.action?.url).toBe('https://sevenfold.test/credits/plan');
});

test('a cancelled plan names the day until which it stays, or says that it has ended', () => {
  const cancelled = { ...moved, action: 'plan.cancelled', nextName: null } as const;
  const email = planMovedEmail(cancelled);
  expect(email.subject).toBe('Your plan is canceled');
  expect(email.paragraphs).toEqual([
    "You canceled your Side-Gig Builder plan on Sevenfold. It lasts until December 9, 2026 (UTC) and won't renew. You won't be charged again.",
    'You keep the credits you have.',
  ]);
  const [ended] = planMovedEmail({ ...cancelled, until: null }).paragraphs;
  expect(ended).toContain("It has ended, and you won't be charged again.");
});

test('a resumed plan names the next payment, and says when no money moves', () => {
  const resumed = { ...moved, action: 'plan.resumed', nextName: null, amountMinor: 2_500 } as const;
  const email = planMovedEmail({ ...resumed, movesMoney: false });
  expect(email.subject).toBe('Your plan continues');
  const words = email.paragraphs.join(' ');
  expect(words).toContain('renews on December 9, 2026 (UTC) as Side-Gig Builder, at $25.00');
  expect(words).toContain('test payments');
  const [undated] = planMovedEmail({ ...resumed, until: null }).paragraphs;
  expect(undated).toContain('It is Side-Gig Builder, at $25.00 a month');
});
