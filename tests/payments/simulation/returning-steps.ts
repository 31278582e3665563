import type { Purchase, Refund } from '#services/payments/contract.ts';
import { askForRefund } from '#services/payments/refunds/ask.ts';
import { openWarnings, settleWarnings } from '#services/payments/disputes/fraud-warnings.ts';
import { bookPaidOtherwise } from '#services/payments/purchases/paid-otherwise.ts';
import { newId } from '#services/platform/ids.ts';
import { requireThat } from '#tests/credits/ledger-oracle.ts';
import type { BookedLot } from '#tests/credits/ledger-oracle.ts';
import type { Step } from './step.ts';
import { freshKey } from './world.ts';
import type { Someone, World } from './world.ts';

const thirtyDays = 30 * 86_400_000;

/** What takes money back: customers, operators, banks and those who warn of fraud. */
export const returningSteps: readonly Step[] = [
  {
    name: 'ask for a refund',
    weight: 8,
    run: async (world) => {
      const found = pickLot(world);
      return found === null ? null : askBack(world, found);
    },
  },
  { name: 'ask around day 30', weight: 4, run: async (world) => askAroundDay30(world) },
  { name: 'a refund fails on its way', weight: 3, run: async (world) => failOnTheWay(world) },
  {
    name: 'an operator refunds',
    weight: 2,
    run: async (world) => {
      const found = pickLot(world);
      if (found === null) return null;
      const { someone, lot } = found;
      const isDone = await world.byWorker(async ({ payments }) =>
        askForRefund(payments, {
          userId: someone.userId,
          purchaseId: lot.purchaseId ?? '',
          refundId: newId('ref', world.now()),
          agreed: null,
          reason: 'operator',
          actor: 'operator:simulation',
        }),
      );
      return `${someone.name} ${isDone ? 'asked' : 'refused'}`;
    },
  },
  {
    name: 'a refund moves at the bank',
    weight: 5,
    run: async (world) => {
      const refunds = world.truth.refunds().filter(({ status }) => status !== 'failed');
      const pending = refunds.filter(({ status }) => status === 'pending');
      const refund = world.chance.pick(
        pending.length > 0 && world.chance.of(0.8) ? pending : refunds.slice(-8),
      );
      if (refund === undefined) return null;
      const isPaid = refund.status === 'pending' && world.chance.of(0.6);
      const outcome = isPaid ? 'succeeded' : 'failed';
      world.shop.stripe.settleRefund(refund.id, outcome);
      world.count(`refund ${refund.status} → ${outcome}`);
      return `${refund.id} ${refund.status} → ${outcome}`;
    },
  },
  {
    name: 'banks pay refunds otherwise',
    weight: 2,
    run: async (world) => {
      const { faults } = world.shop.stripe;
      faults.refunds = world.chance.pick(['succeeded', 'succeeded', 'pending', 'failed'] as const);
      return faults.refunds ?? null;
    },
  },
  {
    name: 'a bank sends back a part',
    weight: 3,
    run: async (world) => {
      const charge = world.chance.pick(
        world.truth.charges().filter((one) => one.amount_refunded < one.amount),
      );
      if (charge === undefined) return null;
      const rest = charge.amount - charge.amount_refunded;
      const amount = world.chance.of(0.3) ? rest : world.chance.between(1, rest);
      const intentId = world.truth.idOf(charge.payment_intent) ?? '';
      const isDone = world.atProvider(() => world.shop.stripe.refundAtBank(intentId, amount));
      if (isDone) world.count('bank refunds');
      return isDone ? `${charge.id} ${amount} of ${charge.amount}` : null;
    },
  },
  {
    name: 'a dispute is opened',
    weight: 3,
    run: async (world) => {
      const disputed = new Set(
        world.truth.disputes().map(({ charge }) => world.truth.idOf(charge)),
      );
      const charges = world.truth
        .charges()
        .filter(({ id }) => !disputed.has(id) || world.chance.of(0.05))
        .slice(-30);
      // Often a partly used one, because its used part becomes debt.
      const used = usedPayments(world);
      const ofUsed = charges.filter(({ id }) => used.has(id));
      const charge = world.chance.pick(
        ofUsed.length > 0 && world.chance.of(0.5) ? ofUsed : charges,
      );
      if (charge === undefined) return null;
      const inquiry = world.chance.of(0.35);
      const amountMinor = world.chance.of(0.5)
        ? charge.amount
        : world.chance.between(1, charge.amount);
      const isDone = world.atProvider(() =>
        world.shop.stripe.openDispute(charge.id, { amountMinor, inquiry }),
      );
      if (isDone) world.count(inquiry ? 'inquiries' : 'disputes');
      return isDone ? `${charge.id} ${amountMinor} of ${charge.amount}` : null;
    },
  },
  {
    name: 'a dispute moves',
    weight: 5,
    run: async (world) => {
      const open = world.truth
        .disputes()
        .filter(({ status }) => !['won', 'lost', 'warning_closed'].includes(status));
      const dispute = world.chance.pick(open);
      if (dispute === undefined) return null;
      const isInquiry = dispute.status.startsWith('warning_');
      const move = world.chance.pick(
        isInquiry
          ? (['warning_closed', 'needs_response', 'under_review'] as const)
          : (['won', 'won', 'lost', 'under_review'] as const),
      )!;
      world.atProvider(() => world.shop.stripe.moveDispute(dispute.id, move));
      world.count(`dispute ${move}`);
      return `${dispute.id} ${dispute.status} → ${move}`;
    },
  },
  {
    name: 'a refunded payment is lost to a dispute',
    weight: 3,
    run: async (world) => {
      const disputed = new Set(world.truth.disputes().map((one) => world.truth.idOf(one.charge)));
      const charge = world.chance.pick(
        world.truth
          .charges()
          .filter((one) => one.amount_refunded > 0 && !disputed.has(one.id))
          .slice(-30),
      );
      if (charge === undefined) return null;
      const isDone = world.atProvider(() => {
        const { id } = world.shop.stripe.openDispute(charge.id);
        world.shop.stripe.moveDispute(id, 'lost');
      });
      if (isDone) world.count('refunded payments lost to a dispute');
      return isDone ? charge.id : null;
    },
  },
  {
    name: 'a warning of fraud',
    weight: 1,
    run: async (world) => {
      const charge = world.chance.pick(world.truth.charges().slice(-10));
      if (charge === undefined) return null;
      world.shop.stripe.warnOfFraud(charge.id);
      world.count('fraud warnings');
      return charge.id;
    },
  },
  { name: 'an operator answers warnings', weight: 1, run: async (world) => answerWarnings(world) },
  {
    name: 'an operator pays out otherwise',
    weight: 1,
    run: async (world) => {
      const owed = world.people
        .filter((someone) => world.accountOf(someone).closed !== null)
        .flatMap((someone) => {
          const { refunds, lots } = world.accountOf(someone);
          const failed = [...refunds.values()].filter(({ status }) => status === 'failed');
          return failed.flatMap(({ lotId }) => ({ someone, lot: lots.get(lotId) }));
        });
      const one = world.chance.pick(owed.filter(({ lot }) => (lot?.available ?? 0) > 0));
      if (one?.lot === undefined) return null;
      const { userId, name } = one.someone;
      const purchaseId = one.lot.purchaseId ?? '';
      const isDone = await world.byWorker(async ({ payments }) =>
        bookPaidOtherwise(payments, { userId, purchaseId, actor: 'operator:simulation' }),
      );
      if (isDone) world.count('paid out otherwise');
      return `${name} ${isDone ? 'paid' : 'refused'}`;
    },
  },
  { name: 'look at the purchases', weight: 3, run: async (world) => lookAtPurchases(world) },
];

type Found = { someone: Someone; lot: BookedLot };

function paidLots(world: World): Found[] {
  return world
    .livingPeople()
    .flatMap((someone) =>
      [...world.accountOf(someone).lots.values()]
        .filter(({ source }) => source === 'purchase')
        .map((lot) => ({ someone, lot })),
    );
}

/** The charges of partly used purchases. */
function usedPayments(world: World): ReadonlySet<string> {
  const used = paidLots(world).filter(
    ({ someone, lot }) => lot.consumed > world.accountOf(someone).owedBy(lot),
  );
  const keys = new Set(used.map(({ lot }) => lot.paymentKey));
  return new Set(
    world.truth
      .payments()
      .filter(({ paymentKey }) => keys.has(paymentKey))
      .map(({ chargeId }) => chargeId),
  );
}

/** Mostly one of which something is left, and often one of which a run holds a part. */
function pickLot(world: World): Found | null {
  const all = paidLots(world);
  const left = all.filter(({ lot }) => lot.available > 0);
  const partlyHeld = left.filter(({ lot }) => lot.held > 0);
  if (partlyHeld.length > 0 && world.chance.of(0.4)) return world.chance.pick(partlyHeld) ?? null;
  return world.chance.pick(world.chance.of(0.85) ? left : all) ?? null;
}

/** The answer must be the one that the watch's own books give. */
async function askBack(world: World, { someone, lot }: Found): Promise<string> {
  const { chance } = world;
  const agreed = chance.of(0.3) ? lot.available + (chance.of(0.2) ? 1 : 0) : null;
  const body = agreed === null || agreed === 0 ? undefined : { credits: agreed };
  const path = `/credits/purchases/${lot.purchaseId}/refund`;
  const key = freshKey();
  const withKey = chance.of(0.5);
  const account = world.accountOf(someone);
  const expected = account.refundable(lot, world.now(), 'customer');
  const answer = await world.ask(someone, path, {
    method: 'POST',
    ...(body === undefined ? {} : { body }),
    ...(withKey ? { key } : {}),
  });
  const { status, code, reason } = answer;
  if (status === 0) return `${someone.name} died`;
  if (withKey) world.asked.push({ someone, path, body, otherBody: { credits: 999 }, key, answer });
  if (expected === null)
    requireThat(
      status === 409 && code === 'refund-not-possible',
      'A refund is promised that is not possible',
      { answer, lot: { ...lot, clawbacks: [...lot.clawbacks] }, now: world.now() },
    );
  else if (body !== undefined && body.credits !== expected.credits)
    requireThat(status === 409 && code === 'refund-changed', 'Another refund is promised', answer);
  else {
    const refund = answer.data as Refund;
    requireThat(
      status === 201 &&
        refund.credits === expected.credits &&
        refund.amount_cents === expected.amountMinor,
      'A refund is refused, or of another amount',
      { answer, expected, now: world.now() },
    );
    world.count('refunds asked for');
  }
  return `${someone.name} ${lot.lotId} ${status} ${reason ?? ''}`;
}

/** The one call that pays it back is refused, or done and not answered; its sender continues. */
async function failOnTheWay(world: World): Promise<string | null> {
  const open = paidLots(world).filter(
    ({ someone, lot }) =>
      world.accountOf(someone).refundable(lot, world.now(), 'customer') !== null,
  );
  const found = world.chance.pick(open);
  if (found === undefined || world.isFaulty()) return null;
  const asked = await askBack(world, found);
  await world.look();
  const { faults } = world.shop.stripe;
  const name = world.chance.pick(['tooMany', 'failAfterCommit', 'loseReply'] as const)!;
  faults[name] = 1;
  faults.only = /^POST \/v1\/refunds/;
  world.noteFaults();
  await world.runJobs();
  await world.look();
  await world.tidy();
  world.clearFaults();
  return `${asked}, ${name}`;
}

/** At the last moment, a millisecond before it, or one after it. */
async function askAroundDay30(world: World): Promise<string | null> {
  const open = paidLots(world).filter(
    ({ someone, lot }) =>
      endOf(lot) > world.now() &&
      world.accountOf(someone).refundable(lot, world.now(), 'customer') !== null,
  );
  const found = world.chance.pick(open);
  if (found === undefined) return null;
  const offset = world.chance.between(-1, 1);
  const end = endOf(found.lot);
  // The workers are awake until shortly before.
  while (end - world.now() > 86_400_000) {
    const hop = Math.min(9 * 86_400_000, end - world.now() - 3_600_000);
    await world.pass(hop);
    await world.sweep();
    await world.runJobs();
    await world.look();
    await world.tidy();
  }
  await world.pass(end + offset - world.now());
  await world.look();
  world.count(`asked at day 30 ${['− 1 ms', '', '+ 1 ms'][offset + 1]}`.trim());
  return `${offset} ms: ${await askBack(world, found)}`;
}

function endOf({ grantedAt, refundableUntil }: BookedLot): number {
  return Math.max(Date.parse(grantedAt) + thirtyDays, Date.parse(refundableUntil ?? grantedAt));
}

async function answerWarnings(world: World): Promise<string | null> {
  const { core } = world.shop;
  // Payments that were never granted are compared with the provider elsewhere.
  const warning = (await openWarnings(core)).find((one) => one.purchase_id !== null);
  if (warning === undefined) return null;
  const { purchase_id: purchaseId, user_id: userId } = warning;
  requireThat(purchaseId !== null && userId !== null, 'A warning is of no purchase', warning);
  const refunds = warning.unused_credits > 0 && world.chance.of(0.6);
  const isDone =
    refunds &&
    (await world.byWorker(async ({ payments }) =>
      askForRefund(payments, {
        userId,
        purchaseId,
        refundId: newId('ref', world.now()),
        agreed: null,
        reason: 'fraud_warning',
        actor: 'operator:simulation',
      }),
    ));
  await settleWarnings(core.pool, purchaseId, isDone ? 'refunded' : 'kept', new Date(world.now()));
  return `${purchaseId} ${isDone ? 'refunded' : 'kept'}`;
}

/** The list offers exactly what would be refunded. */
async function lookAtPurchases(world: World): Promise<string | null> {
  const someone = world.chance.pick(world.livingPeople());
  if (someone === undefined) return null;
  const answer = await world.ask(someone, '/credits/purchases');
  if (answer.status === 0) return `${someone.name} died`;
  requireThat(answer.status === 200, 'The purchases cannot be listed', answer);
  // Opening the list has open payments checked, and may find one paid.
  await world.look();
  const account = world.accountOf(someone);
  const rows = answer.data as Purchase[];
  for (const { lot_id: lotId, refundable, unused_credits: unused } of rows) {
    const lot = lotId === null ? undefined : account.lots.get(lotId);
    if (lot === undefined) {
      requireThat(refundable === null, 'A refund is offered for no lot', { lotId, refundable });
      continue;
    }
    const expected = account.refundable(lot, world.now(), 'customer');
    requireThat(
      unused === lot.available &&
        (refundable?.credits ?? null) === (expected?.credits ?? null) &&
        (refundable?.amount_cents ?? null) === (expected?.amountMinor ?? null),
      'The list offers another refund',
      { refundable, expected, unused, lot: { ...lot, clawbacks: [...lot.clawbacks] } },
    );
  }
  return `${someone.name} ${rows.length}`;
}
