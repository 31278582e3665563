import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { CheckoutState } from '#services/payments/contract.ts';
import { moneyText } from '#services/platform/numbers.ts';
import { paymentFailedEmail } from '#services/payments/emails/payment-failed.ts';
import { receiptEmail } from '#services/payments/emails/receipt.ts';
import type { Receipt } from '#services/payments/emails/receipt.ts';
import { isReceiptMailed, mailReceipt } from '#services/payments/purchases/receipts.ts';
import { findPurchase } from '#services/payments/purchases/rows.ts';
import type { Person } from '#tests/support/app.ts';
import { createTestMailbox, deliverMails, linkIn } from '#tests/support/mail.ts';
import type { TestMailbox } from '#tests/support/mail.ts';
import { createTestShop } from '#tests/support/payments.ts';
import type { TestShop } from '#tests/support/payments.ts';

/** Mails about successful and failed payments. */
let shop: TestShop;
let mailbox: TestMailbox;

beforeAll(async () => {
  mailbox = await createTestMailbox();
  shop = await createTestShop({ env: { SMTP_URL: mailbox.smtpUrl } });
});
afterAll(async () => {
  await shop.close();
  await mailbox.close();
});
beforeEach(async () => mailbox.clear());

/** A user without other notifications; the address is confirmed by default. */
async function customer(proved = true): Promise<Person> {
  const person = await shop.signUp();
  await shop.database.pool.query(
    'update users set email_confirmed_at = $2, notify_run_finished = false where id = $1',
    [person.userId, proved ? new Date() : null],
  );
  return person;
}

const deliver = async () => deliverMails(shop.core, mailbox);

describe('a receipt', () => {
  test('a receipt is sent once for a purchase, after any number of events, and says what happened', async () => {
    const person = await customer();
    const { session_id: id, purchase_id: purchaseId } = await shop.checkout(person, 'boost-50');
    shop.stripe.pay(id, 'pay');
    await shop.deliver({ copies: 3 });
    const row = await findPurchase(shop.core.pool, { purchaseId });
    await mailReceipt(shop.payments, { userId: person.userId, lotId: row?.lot_id ?? '' });
    await deliver();
    const [mail, ...others] = await mailbox.all(person.email);
    expect(others).toEqual([]);
    expect(mail?.subject).toBe('Your receipt: Boost 50, 50 credits');
    expect(mail?.text).toContain('We added 50 credits from Boost 50');
    expect(mail?.text).toContain(': $25.00. No tax was added.');
    expect(mail?.text).toContain('You now have 50 credits available.');
    expect(mail?.text).toContain('No money moved');
    expect(mail?.text).toContain(row?.receipt_url ?? 'a link to the receipt');
    expect(mail?.text).toContain(purchaseId);
    expect(mail && linkIn(mail)).toBe(`${shop.core.publicUrl}/credits`);
  });

  test('a receipt comes for the payment of a plan, too', async () => {
    const person = await customer();
    await shop.buy(person, 'side-gig-builder');
    await deliver();
    const [mail, ...others] = await mailbox.all(person.email);
    expect(others).toEqual([]);
    expect(mail?.subject).toBe('Your receipt: Side-Gig Builder, 50 credits');
    expect(mail?.text).toContain('Your plan adds 50 credits every month.');
  });

  test('a receipt is not sent to an address that is not confirmed', async () => {
    const person = await customer(false);
    await shop.buy(person, 'boost-20');
    await deliver();
    expect(await mailbox.all()).toEqual([]);
  });
});

describe('the state of a checkout', () => {
  const announced = async (person: Person, sessionId: string): Promise<boolean> => {
    const path = `/credits/checkout-sessions/${sessionId}`;
    return (await shop.data<CheckoutState>(path, { token: person.token })).receipt_by_email;
  };

  test.each([
    ['confirmed', 'a package', 'boost-20'],
    ['confirmed', 'a plan', 'side-gig-builder'],
    ['unconfirmed', 'a package', 'boost-20'],
  ] as const)(
    'the state of a checkout announces a receipt by email exactly when one is sent: %s address, %s',
    async (address, _, packageId) => {
      const person = await customer(address === 'confirmed');
      const { session_id: sessionId } = await shop.checkout(person, packageId);
      const before = await announced(person, sessionId);
      shop.stripe.pay(sessionId, 'pay');
      await shop.deliver();
      await deliver();
      const isSent = (await mailbox.all(person.email)).length === 1;
      expect({ before, after: await announced(person, sessionId) }).toEqual({
        before: isSent,
        after: isSent,
      });
    },
  );

  test('the state of a checkout stops announcing a receipt that the mail server refused for good', async () => {
    const person = await customer();
    const { sessionId } = await shop.buy(person, 'boost-20');
    mailbox.trouble.refuse = [person.email];
    try {
      await deliver();
    } finally {
      delete mailbox.trouble.refuse;
    }
    expect(await announced(person, sessionId)).toBe(false);
  });

  test('the state of a checkout announces no receipt while there is no mail server', async () => {
    const person = await customer();
    const silent = { ...shop.payments, sendsMail: false };
    const { purchaseId } = await shop.buy(person, 'boost-20');
    const row = await findPurchase(shop.core.pool, { purchaseId });
    expect(await isReceiptMailed(silent, person.userId, row?.lot_id ?? null)).toBe(false);
    expect(await isReceiptMailed(silent, person.userId, null)).toBe(false);
  });
});

describe('a payment that the bank refuses', () => {
  test('a payment that the bank refuses is emailed once', async () => {
    const person = await customer();
    const { session_id: id } = await shop.checkout(person, 'boost-20');
    shop.stripe.pay(id, 'pay-later');
    await shop.deliver();
    shop.stripe.settleLater(id, 'failed');
    await shop.deliver({ copies: 3 });
    await shop.call(`/credits/checkout-sessions/${id}`, { token: person.token });
    await deliver();
    const [mail, ...others] = await mailbox.all(person.email);
    expect(others).toEqual([]);
    expect(mail?.subject).toBe("Your payment didn't go through");
    expect(mail?.text).toContain('$10.00 payment for Boost 20');
    expect(mail?.text).toContain("You weren't charged");
  });

  test('a payment that the bank refuses at the page itself needs no mail', async () => {
    const person = await customer();
    const { session_id: id } = await shop.checkout(person, 'boost-20');
    shop.stripe.pay(id, 'decline');
    await shop.deliver();
    await deliver();
    expect(await mailbox.all()).toEqual([]);
  });
});

describe('the email of a receipt', () => {
  const receipt: Receipt = {
    purchaseId: 'pur_1',
    packageName: 'Boost 20',
    isPlan: false,
    renewal: null,
    credits: 20,
    paidMinor: 1_190,
    taxMinor: 190,
    currency: 'usd',
    paidAt: new Date('2026-11-20T23:59:59.000Z'),
    receiptUrl: null,
    available: 1_020,
    debt: 0,
    frozen: false,
    productName: 'Sevenfold',
    publicUrl: 'https://example.com',
    movesMoney: true,
  };

  test('the email of a receipt names the amount with its tax, and the balance', () => {
    const email = receiptEmail(receipt);
    expect(email.paragraphs).toEqual([
      'Thank you. We added 20 credits from Boost 20 to your Sevenfold account.',
      'Paid on November 20, 2026 (UTC): $11.90. That includes $1.90 tax.',
      'You now have 1,020 credits available.',
    ]);
    expect(email.closing).toHaveLength(1);
  });

  test('the email of a receipt names the debt, and says when no money moved', () => {
    const renewal = { at: new Date('2026-12-20T10:00:00Z'), amountMinor: 2_500 };
    expect(receiptEmail({ ...receipt, renewal }).paragraphs.join(' ')).toMatch(
      /renews on December 20, 2026 \(UTC\) for \$25\.00.+Cancel anytime.+\/credits\/plan/,
    );
    const words = receiptEmail({ ...receipt, available: 1, debt: 4, movesMoney: false });
    expect(words.paragraphs.slice(2)).toEqual([
      'You now have 1 credit available. You still owe 4 credits.',
      'This server uses test payments. No money moved, and no card was charged.',
    ]);
    expect(receiptEmail({ ...receipt, frozen: true }).paragraphs[2]).toBe(
      "You now have 1,020 credits, which you can't spend while your account is frozen.",
    );
    const failed = paymentFailedEmail({ ...receipt, amountMinor: 1_000 });
    expect(failed.paragraphs).toHaveLength(2);
  });

  test.each([
    [0, 'usd', '$0.00'],
    [1, 'usd', '$0.01'],
    [1_234_567, 'usd', '$12,345.67'],
    [2_500, 'eur', '€25.00'],
    [2_500, 'jpy', '¥2,500'],
  ])('the email of a receipt writes %i minor units of %s as %s', (minor, currency, text) => {
    expect(moneyText(minor, currency)).toBe(text);
  });
});
