import type { Stripe } from 'stripe';
import { packages } from '#services/payments/catalogue.ts';
import type {
  CheckoutReply,
  CheckoutState,
  PaymentIntentReply,
  Plan,
} from '#services/payments/contract.ts';
import { requireThat } from '#tests/credits/ledger-oracle.ts';
import type { Step } from './step.ts';
import { isLive } from './truth.ts';
import { freshKey } from './world.ts';
import type { Someone, World } from './world.ts';

const packs = packages.filter(({ kind }) => kind === 'one_time').map(({ id }) => id);
const plans = packages.filter(({ kind }) => kind === 'monthly').map(({ id }) => id);
const minute = 60_000;

/** The steps of buying: packs, plans, the provider's page and the page after it. */
export const buyingSteps: readonly Step[] = [
  {
    name: 'buy a pack',
    weight: 12,
    run: async (world) => {
      const someone = world.chance.pick(world.livingPeople());
      const packageId = world.chance.pick(packs);
      if (someone === undefined || packageId === undefined) return null;
      return buy(world, someone, packageId);
    },
  },
  {
    name: 'buy a plan',
    weight: 4,
    run: async (world) => {
      const someone = world.chance.pick(world.livingPeople());
      const packageId = world.chance.pick(plans);
      if (someone === undefined || packageId === undefined) return null;
      return buy(world, someone, packageId);
    },
  },
  {
    name: 'a debtor buys',
    weight: 4,
    run: async (world) => {
      const owing = world.livingPeople().filter((someone) => world.accountOf(someone).debt() > 0);
      const someone = world.chance.pick(owing);
      const packageId = world.chance.pick(packs);
      if (someone === undefined || packageId === undefined) return null;
      return buy(world, someone, packageId);
    },
  },
  {
    name: 'pay by another client',
    weight: 3,
    run: async (world) => {
      const someone = world.chance.pick(world.livingPeople());
      const packageId = world.chance.pick(packs);
      if (someone === undefined || packageId === undefined) return null;
      const path = '/credits/create-payment-intent';
      const answer = await world.ask(someone, path, { body: { package_id: packageId } });
      if (answer.status !== 201) return `${someone.name} ${answer.status}`;
      const { payment_intent_id: intentId } = answer.data as PaymentIntentReply;
      const outcome = outcomeOf(world);
      world.atProvider(() => world.shop.stripe.pay(intentId, outcome));
      world.count(`payment page: ${outcome}`);
      return `${someone.name} ${packageId} ${outcome}`;
    },
  },
  {
    name: 'the payment page',
    weight: 6,
    run: async (world) => {
      const open = world.truth.sessions().filter(({ status }) => status === 'open');
      const session = world.chance.pick(open);
      return session === undefined ? null : payAt(world, session);
    },
  },
  {
    name: 'the bank decides',
    weight: 5,
    run: async (world) => {
      const { stripe } = world.shop;
      const sessions = world.truth.sessions();
      const ofSessions = new Set(sessions.map((one) => world.truth.idOf(one.payment_intent)));
      const waiting = [
        ...sessions.filter((one) => one.status === 'complete' && one.payment_status === 'unpaid'),
        ...world.truth
          .intents()
          .filter(
            ({ id, status, metadata }) =>
              status === 'processing' && 'purchase_id' in metadata && !ofSessions.has(id),
          ),
      ];
      const one = world.chance.pick(waiting);
      if (one === undefined) return null;
      const outcome = world.chance.of(0.7) ? 'paid' : 'failed';
      const isDone = world.atProvider(() => stripe.settleLater(one.id, outcome));
      return isDone ? `${one.id} ${outcome}` : null;
    },
  },
  { name: 'the page after paying', weight: 8, run: async (world) => comeBack(world) },
  {
    name: 'forget a purchase',
    weight: 2,
    run: async (world) => {
      const open = world.truth.sessions().filter(({ status }) => status === 'open');
      const session = world.chance.pick(open);
      const someone = session && buyerOf(world, session);
      if (session === undefined || someone === undefined) return null;
      const path = `/credits/purchases/${session.metadata?.['purchase_id']}/forget`;
      const { status } = await world.ask(someone, path, { method: 'POST' });
      requireThat(
        status === 200 || status === 0 || status === 503,
        'Forgetting was refused',
        status,
      );
      return `${someone.name} ${status}`;
    },
  },
  { name: 'change the plan', weight: 4, run: async (world) => changePlan(world) },
  {
    name: 'renewals will fail',
    weight: 3,
    run: async (world) => {
      const plan = world.chance.pick(world.truth.subscriptions().filter(isLive));
      if (plan === undefined) return null;
      const tries = world.chance.between(1, 4);
      world.shop.stripe.failNextRenewal(plan.id, tries);
      return `${plan.id} ${tries} times`;
    },
  },
  { name: 'everybody asks at once', weight: 3, run: async (world) => askAllAtOnce(world) },
];

async function buy(world: World, someone: Someone, packageId: string): Promise<string> {
  const { chance } = world;
  const path = chance.of(0.5) ? '/credits/create-checkout-session' : '/credits/purchase';
  const body = { package_id: packageId };
  const key = freshKey();
  const withKey = chance.of(0.5);
  const answer = await world.ask(someone, path, { body, ...(withKey ? { key } : {}) });
  const { status, code, data } = answer;
  if (withKey && status !== 0) {
    const otherBody = { package_id: packageId === 'boost-20' ? 'boost-50' : 'boost-20' };
    world.asked.push({ someone, path, body, otherBody, key, answer });
  }
  if (status !== 201) {
    requireThat(
      [0, 503].includes(status) ||
        (status === 409 && isWellRefused(world, someone, packageId, code)),
      'A checkout was refused',
      answer,
    );
    return `${someone.name} ${packageId} ${status} ${code ?? ''}`;
  }
  world.count('checkouts');
  const session = world.truth.session((data as CheckoutReply).session_id);
  requireThat(
    session?.metadata?.['user_id'] === someone.userId,
    'A checkout belongs to no user',
    data,
  );
  const done = chance.of(0.7) ? await payAt(world, session) : 'later';
  return `${someone.name} ${packageId} ${done}`;
}

function isWellRefused(
  world: World,
  { userId }: Someone,
  packageId: string,
  code: string | null,
): boolean {
  if (code === 'checkout-ended') return true;
  if (code !== 'plan-exists' || !plans.includes(packageId)) return false;
  const hasPlan = world.truth.subscriptions().some((plan) => plan.metadata['user_id'] === userId);
  const isPaying = world.truth
    .sessions()
    .some(({ mode, metadata }) => mode === 'subscription' && metadata?.['user_id'] === userId);
  return hasPlan || isPaying;
}

function outcomeOf(world: World): 'pay' | 'decline' | 'pay-later' | 'abandon' {
  return world.chance.weighted([
    { weight: 12, outcome: 'pay' },
    { weight: 2, outcome: 'decline' },
    { weight: 3, outcome: 'pay-later' },
    { weight: 1, outcome: 'abandon' },
  ] as const).outcome;
}

async function payAt(world: World, session: Stripe.Checkout.Session): Promise<string> {
  const outcome = outcomeOf(world);
  world.atProvider(() => world.shop.stripe.pay(session.id, outcome));
  world.count(`payment page: ${outcome}`);
  return outcome;
}

function buyerOf(world: World, session: Stripe.Checkout.Session): Someone | undefined {
  return world.livingPeople().find(({ userId }) => session.metadata?.['user_id'] === userId);
}

/** A returning buyer sees the outcome at once and has the credits. */
async function comeBack(world: World): Promise<string | null> {
  const recent = world.truth.sessions().slice(-20);
  const session = world.chance.pick(recent.filter(({ status }) => status !== 'expired'));
  const someone = session && buyerOf(world, session);
  if (session === undefined || someone === undefined) return null;
  const answer = await world.ask(someone, `/credits/checkout-sessions/${session.id}`);
  const { status } = answer;
  if (status === 0 || status === 503) return `${someone.name} ${status}`;
  // A checkout whose answer was lost is known by its purchase only.
  if (status === 404) return `${someone.name} not known`;
  const state = answer.data as CheckoutState;
  if (session.payment_status === 'paid' && !world.isFaulty())
    requireThat(state.status === 'paid', 'What was paid is not shown as paid', state);
  if (state.status === 'paid')
    requireThat(session.payment_status === 'paid', 'What was not paid is shown as paid', state);
  return `${someone.name} ${state.status}`;
}

async function changePlan(world: World): Promise<string | null> {
  const { chance } = world;
  const live = world.truth.subscriptions().filter(isLive);
  const owners = world
    .livingPeople()
    .filter(({ userId }) => live.some((plan) => plan.metadata['user_id'] === userId));
  const someone = chance.of(0.9) ? chance.pick(owners) : chance.pick(world.livingPeople());
  if (someone === undefined) return null;
  const packageId = chance.pick(plans)!;
  const body = chance.weighted([
    { weight: 2, body: { action: 'cancel' } },
    { weight: 2, body: { action: 'resume' } },
    { weight: 3, body: { action: 'change', package_id: packageId } },
  ] as const).body;
  const answer = await world.ask(someone, '/credits/plan', { body });
  const { status, code } = answer;
  requireThat([200, 409, 503, 0].includes(status), 'Changing a plan was refused', answer);
  if (status === 200 && body.action === 'cancel') {
    const { plan } = answer.data as Plan;
    requireThat(
      plan?.status === 'cancelling' || plan?.status === 'ended',
      'A plan was cancelled and continues',
      plan,
    );
  }
  return `${someone.name} ${JSON.stringify(body)} ${status} ${code ?? ''}`;
}

/** The page, the webhook events three times over, and the sweeper. */
async function askAllAtOnce(world: World): Promise<string | null> {
  const paid = world.truth
    .sessions()
    .slice(-20)
    .filter((session) => session.payment_status === 'paid' && buyerOf(world, session));
  const session = paid.at(-1);
  const someone = session && buyerOf(world, session);
  if (session === undefined || someone === undefined) return null;
  await world.pass(11 * minute);
  world.watch.expectSeveral(true);
  const path = `/credits/checkout-sessions/${session.id}`;
  const answers = await Promise.all([
    world.ask(someone, path),
    world.ask(someone, path),
    world.shop.stripe.deliverAll({ copies: 3, order: 'reversed' }),
    world.runJobs(),
    world.sweep(),
  ]);
  await world.look();
  world.watch.expectSeveral(false);
  return `${someone.name} ${answers[0].status} ${answers[1].status}`;
}
