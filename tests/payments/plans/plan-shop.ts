import type { Plan } from '#services/payments/contract.ts';
import { findPlan, readPlans } from '#services/payments/plans/rows.ts';
import { endSubscriptions } from '#tests/payments/purchases/bought.ts';
import type { Person } from '#tests/support/app.ts';
import { testPassword } from '#tests/support/password.ts';
import { createTestShop } from '#tests/support/payments.ts';

export const day = 86_400_000;

export type PlanShop = Awaited<ReturnType<typeof createPlanShop>>;
export type Subscriber = Person & { subscriptionId: string };

/** Plans over the provider of the sandbox, whose clock is the application's. */
export async function createPlanShop() {
  const time = { now: Date.UTC(2026, 10, 2, 10) };
  const shop = await createTestShop({
    clock: () => time.now,
    env: { MONTHLY_LIMITS: 'free:1,pro:3,scale:-1' },
  });
  const { pool } = shop.core;
  const tokens = new Map<string, { token: string; at: number }>();

  /** Moves both clocks; what falls due at the provider happens at its time. */
  function move(ms: number): void {
    time.now += ms;
    shop.stripe.advance(0);
  }

  async function newPerson(): Promise<Person> {
    const person = await shop.signUp();
    tokens.set(person.email, { token: person.token, at: time.now });
    await pool.query('update users set email_confirmed_at = $2 where id = $1', [
      person.userId,
      new Date(time.now),
    ]);
    return person;
  }

  /** A token that is good at the present time: one is good for a few minutes, and costs a password. */
  async function tokenOf({ email }: Person): Promise<string> {
    const kept = tokens.get(email);
    if (kept?.at === time.now) return kept.token;
    const body = { email, password: testPassword };
    const { token } = await shop.data<{ token: string }>('/auth/login', { body });
    tokens.set(email, { token, at: time.now });
    return token;
  }

  async function subscriber(packageId = 'side-gig-builder', buyer?: Person): Promise<Subscriber> {
    const person = buyer ?? (await newPerson());
    await shop.buy(person, packageId);
    const [plan] = await readPlans(pool, person.userId);
    if (!plan) throw new Error('There is no plan');
    return { ...person, subscriptionId: plan.subscription_id };
  }

  async function toPeriodEnd({ subscriptionId }: { subscriptionId: string }): Promise<void> {
    const plan = await findPlan(pool, subscriptionId);
    move((plan?.current_period_end?.getTime() ?? 0) - time.now);
  }

  return {
    ...shop,
    time,
    move,
    newPerson,
    tokenOf,
    subscriber,
    toPeriodEnd,
    async renew(person: { subscriptionId: string }): Promise<void> {
      await toPeriodEnd(person);
      await shop.deliver();
    },
    async planOf(person: Person): Promise<Plan> {
      return shop.data<Plan>('/credits/plan', { token: await tokenOf(person) });
    },
    async act(person: Person, body: Record<string, string>): Promise<Response> {
      return shop.call('/credits/plan', { token: await tokenOf(person), body });
    },
    async tierOf({ userId }: Person): Promise<string | undefined> {
      const { rows } = await pool.query<{ tier: string }>(
        'select subscription_tier as tier from users where id = $1',
        [userId],
      );
      return rows[0]?.tier;
    },
    async lotsOf({ userId }: Person): Promise<number[]> {
      const { lots } = await shop.core.ledger.readAccount(userId);
      return lots.map((lot) => lot.granted);
    },
    async audited({ userId }: Person, action: string): Promise<unknown[]> {
      const { rows } = await pool.query<{ detail: unknown }>(
        'select detail from audit_log where user_id = $1 and action = $2 order by entry_id',
        [userId, action],
      );
      return rows.map(({ detail }) => detail);
    },
    async mailsOf({ userId }: Person, kind: string): Promise<number> {
      const { rowCount } = await pool.query('select from mail where user_id = $1 and kind = $2', [
        userId,
        kind,
      ]);
      return rowCount ?? 0;
    },
    /** The paid invoice whose event has not been sent. */
    pendingInvoice(): string {
      const event = shop.stripe.pendingWebhookEvents().find(({ type }) => type === 'invoice.paid');
      if (!event || !('id' in event.data.object)) throw new Error('There is no paid invoice');
      return event.data.object.id ?? '';
    },
    /** After each test: else its plans renew when a later test moves the clock by a month. */
    async endPlans(): Promise<void> {
      endSubscriptions(shop);
      await shop.stripe.deliverAll({ drop: () => true });
      await pool.query(
        'update plan set ended_at = now(), next_check_at = null where ended_at is null',
      );
    },
  };
}
