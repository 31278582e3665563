import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readStream } from '#db/streams.ts';
import { creditRefundCommands } from '#services/cli/credits/refunds.ts';
import { replay, recordedCreditEvents } from '#services/credits/audit/replay.ts';
import { disputeMoved } from '#services/payments/refunds/webhooks.ts';
import { runHere } from '#tests/cli/in-process.ts';
import { mailsTo } from '#tests/identity/browser.ts';
import type { Person } from '#tests/support/app.ts';
import { createTestShop } from '#tests/support/payments.ts';
import type { TestShop } from '#tests/support/payments.ts';
import { consume, give, issueToken } from '#tests/support/processes/service.ts';
import {
  accountOf,
  askBack,
  bought,
  hold,
  refundsAt,
  use,
} from '#tests/payments/purchases/bought.ts';
import type { Bought } from '#tests/payments/purchases/bought.ts';
import { creditStream } from '#services/credits/account/events.ts';

/** A payment that went back twice: as a refund, and once more through the bank. */
const operator = 'operator@sevenfold.example';

let shop: TestShop;
let now = Date.parse('2026-11-20T12:00:00.000Z');

beforeAll(async () => {
  shop = await createTestShop({ clock: () => (now += 1), env: { CONTACT_EMAIL: operator } });
});
afterAll(async () => {
  expect(shop.logged.filter((line) => line.includes('Failed task'))).toEqual([]);
  await shop.close();
});

/** A user with 30 credits beside the purchased ones. */
async function buyer(): Promise<Bought> {
  const one = await bought(shop, 'boost-20');
  await give(shop, one.person.userId, 30);
  return one;
}

async function eventsOf({ userId }: Person) {
  return recordedCreditEvents((await readStream(shop.core.pool, creditStream(userId))).events);
}

const freezesOf = async ({ person }: Bought) =>
  (await eventsOf(person)).filter(({ event }) => event.type === 'SpendingFrozen').length;

async function operatorMails({ person }: Bought) {
  return (await mailsTo(shop, operator)).filter(({ text }) => text.includes(person.userId));
}

const refunded = async (one: Bought) => {
  await askBack(shop, one);
  await shop.deliver();
};

function lost(one: Bought): string {
  const { id } = shop.stripe.openDispute(one.intentId);
  shop.stripe.moveDispute(id, 'lost');
  return id;
}

async function unfreeze(...args: string[]): Promise<unknown> {
  const typed = ['credits', 'unfreeze', ...args, '--json'];
  return JSON.parse((await runHere(shop, creditRefundCommands, typed)).out) as unknown;
}

describe('a payment that was refunded and is then lost to a dispute', () => {
  test('a payment that was refunded and is then lost to a dispute freezes all spending, says why and to whom to write, and the usage check agrees', async () => {
    const one = await buyer();
    await refunded(one);
    lost(one);
    await shop.deliver({ copies: 2 });
    const { token, userId } = one.person;
    expect(await freezesOf(one)).toBe(1);
    expect(await shop.data('/credits/balance', { token })).toMatchObject({
      available_credits: 30,
      debt_credits: 0,
      spending_frozen: true,
    });
    const usage = { required_credits: 3 };
    expect(await shop.data('/credits/check-usage', { token, body: usage })).toMatchObject({
      has_sufficient_credits: false,
      refusal: { status: 403, code: 'spending-frozen' },
    });
    await expect(hold(shop, one.person, 3)).rejects.toMatchObject({
      status: 403,
      code: 'spending-frozen',
      message: expect.stringMatching(/refunded.*bank.*Contact us/) as string,
    });
    const { secret } = await issueToken(shop);
    const refusal = await consume(shop, secret, { user_id: userId, credits: 3 });
    expect([refusal.status, await refusal.json()]).toMatchObject([
      403,
      { code: 'spending-frozen' },
    ]);
    expect(replay(userId, await eventsOf(one.person)).differences).toEqual([]);
  });

  test('the operator and the customer get one email each of a freeze, however often the webhook event arrives', async () => {
    const one = await buyer();
    await shop.database.pool.query('update users set email_confirmed_at = now() where id = $1', [
      one.person.userId,
    ]);
    await refunded(one);
    const id = lost(one);
    await shop.deliver({ copies: 3 });
    await disputeMoved(shop.payments, id);
    await shop.runJobs();
    const mails = await operatorMails(one);
    expect(mails.map(({ kind }) => kind)).toEqual(['spending-frozen']);
    expect(mails[0]?.text).toContain('$10.00');
    expect(mails[0]?.text).toContain(id);
    expect(mails[0]?.text).toContain(`credits unfreeze ${one.person.userId} --reason`);
    expect(mails[0]?.text).not.toContain(one.person.email);
    const own = (await mailsTo(shop, one.person.email)).filter(
      ({ kind }) => kind === 'credits-frozen',
    );
    expect(own.map(({ text }) => text)).toEqual([
      expect.stringContaining("you can't spend your credits"),
    ]);
  });

  test('a payment that went back twice freezes in the other order, too: the refund that was under way is paid after the dispute is lost', async () => {
    const one = await buyer();
    shop.stripe.faults.refunds = 'pending';
    await askBack(shop, one);
    await shop.deliver();
    delete shop.stripe.faults.refunds;
    lost(one);
    await shop.deliver();
    expect(await freezesOf(one)).toBe(0);
    const [made] = await refundsAt(shop, one);
    shop.stripe.settleRefund(made?.providerRefundId ?? '', 'succeeded');
    await shop.deliver({ copies: 2 });
    expect(await freezesOf(one)).toBe(1);
    expect(await operatorMails(one)).toHaveLength(1);
  });

  test('a freeze lets what a run holds settle, and freezes nothing where no more went back than was paid', async () => {
    const [one, other] = [await buyer(), await buyer()];
    const run = await hold(shop, one.person, 3);
    await refunded(one);
    lost(one);
    await use(shop, other.person, 50);
    lost(other);
    await shop.deliver();
    await run.capture();
    expect((await accountOf(shop, one.person)).balance).toMatchObject({ held: 0, consumed: 3 });
    expect([await freezesOf(one), await freezesOf(other)]).toEqual([1, 0]);
  });

  test('a freeze is lifted by the operator with a recorded reason, and the same dispute freezes no more', async () => {
    const one = await buyer();
    await refunded(one);
    const id = lost(one);
    await shop.deliver();
    const { userId, email, token } = one.person;
    await expect(unfreeze(email)).rejects.toThrow('Missing: --reason');
    const reason = 'The bank corrected itself';
    expect(await unfreeze(email, '--reason', reason)).toEqual({ user_id: userId, lifted: 1 });
    expect(await shop.data('/credits/balance', { token })).toMatchObject({
      spending_frozen: false,
    });
    await disputeMoved(shop.payments, id);
    await shop.deliver();
    await use(shop, one.person, 3);
    expect(await freezesOf(one)).toBe(1);
    await expect(unfreeze(email, '--reason', 'Twice')).rejects.toThrow('not frozen');
    const { rows } = await shop.database.ownerPool.query<{ detail: object }>(
      `select detail from audit_log where user_id = $1 and action = 'credits.unfrozen'`,
      [userId],
    );
    expect(rows).toEqual([{ detail: { lifted: 1, reason } }]);
    expect(replay(userId, await eventsOf(one.person)).differences).toEqual([]);
  });
});
