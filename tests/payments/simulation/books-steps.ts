import type { Difference, DifferenceKind } from '#services/payments/settle/reconcile/difference.ts';
import { reconcile } from '#services/payments/settle/reconcile/reconcile.ts';
import { requireThat } from '#tests/credits/ledger-oracle.ts';
import { returningSteps } from './returning-steps.ts';
import type { Step } from './step.ts';
import type { World } from './world.ts';

/** The books are compared while much is under way: what differs has to be named, and nothing else. */
export const booksSteps: readonly Step[] = [
  { name: 'an operator compares the books', weight: 4, run: async (world) => compare(world) },
];

/** Changes that have no webhook event yet when the books are compared right after them. */
const bankSteps = returningSteps.filter(({ name }) =>
  [
    'a refund moves at the bank',
    'a bank sends back a part',
    'a dispute is opened',
    'a dispute moves',
  ].includes(name),
);

async function compare(world: World): Promise<string | null> {
  // The comparison gives up when the provider is unavailable.
  if (world.isFaulty()) return null;
  const moves = world.chance.of(0.6) ? world.chance.pick(bankSteps) : undefined;
  const moved = (await moves?.run(world)) ?? 'nothing';
  const found = await reconcile(world.shop.payments, world.begun);
  const all = [...found.differences, ...found.settling];
  const expected = [
    { kinds: ['payment-without-lot'], objects: ungranted(world) },
    { kinds: ['refund-not-booked', 'refund-contradicts'], objects: unbooked(world) },
    { kinds: ['refund-not-sent'], objects: unsent(world) },
  ] satisfies { kinds: DifferenceKind[]; objects: string[] }[];
  for (const { kinds, objects } of expected)
    requireSame(namedAs(all, kinds), objects, `The books differ otherwise: ${kinds.join(', ')}`);
  const banks = notClawedBackOfBanks(world);
  requireSame(
    namedAs(all, ['bank-refund']).filter(
      (intentId) => banks.includes(intentId) || !isRefundUnbooked(world, intentId),
    ),
    banks,
    'The books differ otherwise: bank-refund',
  );
  // A row may be behind its clawback, so more differences may be reported here.
  const named = namedAs(all, ['dispute-missing', 'dispute-stage', 'dispute-clawback']);
  const missed = notClawedBackDisputes(world).filter((id) => !named.includes(id));
  requireThat(missed.length === 0, 'The books do not show a dispute that is not booked', missed);
  const differing = expected.reduce((sum, { objects }) => sum + objects.length, banks.length);
  world.count('differences found on the way', differing);
  return `${differing} differ, moved before: ${moved}`;
}

function namedAs(found: readonly Difference[], kinds: readonly DifferenceKind[]): string[] {
  return found.filter(({ kind }) => kinds.includes(kind)).map(({ object }) => object);
}

function requireSame(found: readonly string[], expected: readonly string[], what: string): void {
  const isSame = found.toSorted().join() === expected.toSorted().join();
  requireThat(isSame, what, { found, expected });
}

function lotsOf({ watch }: World) {
  return [...watch.accounts.values()].flatMap((account) =>
    [...account.lots.values()].map((lot) => ({ account, lot })),
  );
}

/** Payments that nothing was granted for so far, as the provider names them. */
function ungranted(world: World): string[] {
  const granted = new Set(lotsOf(world).map(({ lot }) => lot.paymentKey));
  return world.truth
    .payments()
    .filter(({ paymentKey }) => !granted.has(paymentKey))
    .map(({ paymentKey }) => paymentKey.slice(paymentKey.indexOf(':') + 1));
}

const endOf: Readonly<Record<string, string>> = {
  succeeded: 'confirmed',
  failed: 'failed',
  pending: 'pending',
};

/** Refunds of ours that have moved at the provider, and not in the ledger. */
function unbookedRefunds({ truth, watch }: World) {
  const ours = new Map([...watch.accounts.values()].flatMap(({ refunds }) => [...refunds]));
  return truth.refunds().filter(({ status, metadata }) => {
    const known = ours.get(metadata?.['refund_id'] ?? '');
    return known !== undefined && known.status !== endOf[status ?? ''];
  });
}

const unbooked = (world: World): string[] => unbookedRefunds(world).map(({ id }) => id);

/** The ledger still counts a refund of ours that failed at the bank, so the bank's share looks smaller to it. */
function isRefundUnbooked(world: World, intentId: string): boolean {
  return unbookedRefunds(world).some(
    ({ payment_intent: intent }) => world.truth.idOf(intent) === intentId,
  );
}

/** Refunds that the ledger has as pending, and the provider has not. */
function unsent({ truth, watch }: World): string[] {
  const sent = new Set(truth.refunds().map(({ metadata }) => metadata?.['refund_id']));
  return [...watch.accounts.values()]
    .flatMap(({ refunds }) => [...refunds.values()])
    .filter(({ refundId, status }) => status === 'pending' && !sent.has(refundId))
    .map(({ refundId }) => refundId);
}

/** Payments whose bank refunds and clawbacks differ. */
function notClawedBackOfBanks(world: World): string[] {
  return lotsOf(world).flatMap(({ account, lot }) => {
    const payment = lot.paymentKey === null ? null : world.truth.paymentByKey(lot.paymentKey);
    if (payment === null) return [];
    const { chargeId, intentId } = payment;
    const wanted = world.watch.expectedClawback(account, lot, chargeId)?.wanted ?? 0;
    return wanted === (lot.clawbacks.get(chargeId)?.wanted ?? 0) ? [] : [intentId];
  });
}

/** Disputes of granted payments whose clawback has a wrong amount. */
function notClawedBackDisputes(world: World): string[] {
  const { truth, watch } = world;
  return lotsOf(world).flatMap(({ account, lot }) => {
    const payment = lot.paymentKey === null ? null : truth.paymentByKey(lot.paymentKey);
    return truth.disputes().flatMap(({ id, charge }) => {
      if (payment === null || truth.idOf(charge) !== payment.chargeId) return [];
      const expected = watch.expectedClawback(account, lot, id);
      const clawback = lot.clawbacks.get(id);
      const wanted = expected?.wanted ?? 0;
      const stands =
        wanted === (clawback?.wanted ?? 0) && (wanted === 0 || expected?.owes === clawback?.owes);
      return stands ? [] : [id];
    });
  });
}
