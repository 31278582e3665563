import type { AccountState } from '#services/credits/account/state.ts';
import type { Lot } from '#services/credits/account/lots.ts';
import type { Purchase, Refund } from '#services/payments/contract.ts';
import { cancelSubscription } from '#services/sandbox/stripe/objects/subscriptions.ts';
import { newId } from '#services/platform/ids.ts';
import type { Person } from '#tests/support/app.ts';
import type { TestShop } from '#tests/support/payments.ts';

/** A user who has bought a package, and the names of that purchase everywhere. */
export type Bought = { person: Person; purchaseId: string; intentId: string };

export async function bought(shop: TestShop, packageId: string, person?: Person): Promise<Bought> {
  const buyer = person ?? (await shop.signUp());
  // Purchases of one millisecond have no order, so the new one is found by comparing the lists.
  const before = new Set((await grantedTo(shop, buyer)).map(({ id }) => id));
  await shop.buy(buyer, packageId);
  const row = (await grantedTo(shop, buyer)).find(({ id }) => !before.has(id));
  if (!row) throw new Error(`Nothing was granted: ${shop.logged.join('\n')}`);
  return { person: buyer, purchaseId: row.id, intentId: row.payment_intent_id };
}

async function grantedTo(
  { database }: TestShop,
  { userId }: Person,
): Promise<{ id: string; payment_intent_id: string }[]> {
  const { rows } = await database.pool.query<{ id: string; payment_intent_id: string }>(
    'select id, payment_intent_id from purchase where user_id = $1 and lot_id is not null',
    [userId],
  );
  return rows;
}

export async function accountOf(shop: TestShop, { userId }: Person): Promise<AccountState> {
  return shop.payments.ledger.readAccount(userId);
}

export async function lotOf(shop: TestShop, { person, purchaseId }: Bought): Promise<Lot> {
  const { lots } = await accountOf(shop, person);
  const lot = lots.find((candidate) => candidate.purchaseId === purchaseId);
  if (!lot) throw new Error('There is no such lot');
  return lot;
}

/** All plans, at the provider: none renews in a later test. */
export function endSubscriptions({ stripe }: TestShop): void {
  const { world } = stripe;
  for (const { id, ended_at: endedAt } of world.store.all('subscription'))
    if (endedAt === null) stripe.act(() => cancelSubscription(world, id, {}));
}

/** The figures of a lot without zeros. */
export async function partsOf(shop: TestShop, of: Bought): Promise<Partial<Lot>> {
  const { available, held, consumed, cashPending, cashRefunded, revoked } = await lotOf(shop, of);
  const parts = { available, held, consumed, cashPending, cashRefunded, revoked };
  return Object.fromEntries(Object.entries(parts).filter(([, credits]) => credits > 0));
}

/** A run holds credits; the answer ends it. */
export async function hold(
  shop: TestShop,
  { userId }: Person,
  credits: number,
): Promise<{ capture: () => Promise<unknown>; release: () => Promise<unknown> }> {
  const { ledger } = shop.core;
  const runId = newId('opt', shop.core.clock());
  await ledger.reserve({ userId, runId, credits, month: '2026-11', limit: -1, actor: userId });
  const settle = async (kind: 'capture' | 'release') =>
    ledger.settle({
      userId,
      runId,
      actor: 'test',
      settlement: kind === 'release' ? { kind } : { kind, capture: credits, refund: 0 },
    });
  return { capture: async () => settle('capture'), release: async () => settle('release') };
}

export async function use(shop: TestShop, person: Person, credits: number): Promise<void> {
  const run = await hold(shop, person, credits);
  await run.capture();
}

export async function askBack(
  shop: TestShop,
  { person, purchaseId }: Pick<Bought, 'person' | 'purchaseId'>,
  options: { credits?: number; key?: string } = {},
): Promise<{ status: number; refund: Refund; problem: { code: string; reason?: string } }> {
  const { credits, key } = options;
  const response = await shop.call(`/credits/purchases/${purchaseId}/refund`, {
    method: 'POST',
    token: person.token,
    ...(credits === undefined ? {} : { body: { credits } }),
    ...(key === undefined ? {} : { key }),
  });
  const reply = (await response.json()) as { data: Refund; code: string; reason?: string };
  return { status: response.status, refund: reply.data, problem: reply };
}

export async function purchasesOf(shop: TestShop, { token }: Person): Promise<Purchase[]> {
  return shop.data<Purchase[]>('/credits/purchases', { token });
}

/** All refunds of a payment that the provider has, ours and the bank's. */
export async function refundsAt(shop: TestShop, { intentId }: Bought) {
  return shop.payments.provider.listRefunds(intentId);
}
