import type { Stripe } from 'stripe';
import { creditAccount } from '#services/credits/account/account.ts';
import type { CreditCommand } from '#services/credits/account/account.ts';
import { Problem } from '#services/platform/problem.ts';
import { testPassword } from '#tests/support/password.ts';
import { requireThat } from '#tests/credits/ledger-oracle.ts';
import type { Crash } from './processes.ts';
import type { Step } from './step.ts';
import { isLive } from './truth.ts';
import type { World } from './world.ts';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

/** Steps that affect all users: time, webhook events, workers, faults, kills, sign-ups and erasures. */
export const worldSteps: readonly Step[] = [
  { name: 'webhook events', weight: 22, run: async (world) => deliver(world) },
  {
    name: 'jobs',
    weight: 18,
    run: async (world) => {
      await world.runJobs();
      return '';
    },
  },
  {
    name: 'sweepers',
    weight: 8,
    run: async (world) => {
      await world.sweep();
      return '';
    },
  },
  {
    name: 'minutes pass',
    weight: 6,
    run: async (world) => wait(world, world.chance.between(1, 30) * minute),
  },
  {
    name: 'hours pass',
    weight: 4,
    run: async (world) => wait(world, world.chance.between(1, 30) * hour),
  },
  {
    name: 'days pass',
    weight: 3,
    run: async (world) => wait(world, world.chance.between(2, 9) * day),
  },
  { name: 'a plan renews', weight: 4, run: async (world) => passRenewal(world) },
  {
    name: 'the provider fails',
    weight: 4,
    run: async (world) => {
      const { faults } = world.shop.stripe;
      const name = world.chance.pick(['tooMany', 'failAfterCommit', 'loseReply'] as const)!;
      faults[name] = world.chance.between(1, 3);
      world.count(`fault: ${name}`);
      return `${name} ${faults[name]}`;
    },
  },
  {
    name: 'the provider recovers',
    weight: 2,
    run: async (world) => {
      world.clearFaults();
      return '';
    },
  },
  { name: 'a process will die', weight: 7, run: async (world) => armCrash(world) },
  { name: 'ask the same again', weight: 4, run: async (world) => repeat(world) },
  { name: 'another command under a known id', weight: 2, run: async (world) => tamper(world) },
  { name: 'a user is erased', weight: 2, run: async (world) => leave(world) },
];

async function wait(world: World, ms: number): Promise<string> {
  await world.pass(ms);
  return `${Math.round(ms / minute)} minutes`;
}

/** Each event 0 to 3 times and in any order; some are lost for good. */
async function deliver(world: World): Promise<string | null> {
  const { chance } = world;
  const pending = world.shop.stripe.pendingWebhookEvents();
  if (pending.length === 0) return null;
  const lost = new Set(pending.filter(() => chance.of(0.04)).map(({ id }) => id));
  const drawn = chance.shuffled(
    pending.flatMap((event) => Array<Stripe.Event>(chance.weighted(copies).count).fill(event)),
  );
  world.count('webhook events lost', lost.size);
  const done = await world.shop.stripe.deliverAll({
    drop: ({ id }) => lost.has(id),
    order: (events) => drawn.filter((event) => events.includes(event)),
  });
  const bad = done.filter(({ status }) => status !== 200 && status !== 0 && status < 500);
  requireThat(
    bad.length === 0,
    'A webhook event was refused',
    bad.map(({ status }) => status),
  );
  return `${done.length} of ${pending.length}, ${lost.size} lost`;
}

const copies = [
  { weight: 2, count: 0 },
  { weight: 6, count: 1 },
  { weight: 2, count: 2 },
  { weight: 1, count: 3 },
];

/** Workers are awake on the way, unless they are not. */
async function passRenewal(world: World): Promise<string | null> {
  const plan = world.chance.pick(world.truth.subscriptions().filter(isLive));
  const end = plan?.items.data[0]?.current_period_end;
  if (plan === undefined || end === undefined) return null;
  const isAsleep = world.chance.of(0.3);
  const until = end * 1000 + world.chance.between(-hour, 2 * hour);
  while (world.now() < until) {
    await world.pass(Math.min(9 * day, until - world.now()));
    if (isAsleep && until - world.now() < 20 * day) continue;
    await world.sweep();
    await world.runJobs();
    await world.look();
    await world.tidy();
  }
  world.count('renewals passed');
  return `${plan.id}${isAsleep ? ' while everybody sleeps' : ''}`;
}

// --- death ---

/** Where others have been killed before, and anywhere. */
const points: readonly { weight: number; at: RegExp; most: number }[] = [
  { weight: 3, at: /after provider\.create/, most: 1 },
  { weight: 3, at: /after paid\.grantPurchase/, most: 1 },
  { weight: 2, at: /before paid\.grantPurchase/, most: 1 },
  { weight: 3, at: /(after|before) provider\.createRefund/, most: 1 },
  { weight: 3, at: /(after|before) paid\.endRefund/, most: 1 },
  { weight: 3, at: /after paid\.requestRefund/, most: 1 },
  { weight: 3, at: /(after|before) paid\.setClawback/, most: 2 },
  { weight: 2, at: /provider\.(cancel|change|expire|delete|setCancel)/, most: 2 },
  { weight: 2, at: /provider\.(retrieve|list)/, most: 8 },
  { weight: 2, at: /holds\./, most: 2 },
  { weight: 1, at: /queueMail|audit/, most: 2 },
  { weight: 4, at: /sql\.query/, most: 40 },
];

async function armCrash(world: World): Promise<string> {
  const { at, most } = world.chance.weighted(points);
  const crash: Crash = { at, passes: world.chance.between(1, most) };
  const isApi = world.chance.of(0.4);
  const { life } = isApi ? world.api() : world.worker();
  life.arm(crash);
  return `the ${isApi ? 'API' : 'worker'} at ${at.source}, time ${crash.passes}`;
}

// --- asking again ---

async function repeat(world: World): Promise<string | null> {
  const { chance } = world;
  const { asked } = world;
  const one = chance.pick(asked.slice(-12).filter(({ someone }) => !someone.hasLeft));
  if (one === undefined) return null;
  const { someone, path, body, otherBody, key, answer } = one;
  const isSame = chance.of(0.5);
  const sent = isSame ? body : otherBody;
  const before = world.events();
  const again = await world.ask(someone, path, {
    method: 'POST',
    key,
    ...(sent === undefined ? {} : { body: sent }),
  });
  const { status } = again;
  if (status === 0) {
    asked.splice(asked.indexOf(one), 1);
    return 'died';
  }
  if (answer.status === 201 && isSame)
    requireThat(
      status === 201 && JSON.stringify(again.data) === JSON.stringify(answer.data),
      'L9: the same asked again is answered otherwise',
      { answer, again },
    );
  // A refused call leaves nothing behind; one with an unknown outcome may still be in progress.
  else if (answer.status !== 201) {
    asked.splice(asked.indexOf(one), 1);
    return `${path} ${status}, first ${answer.status}`;
  } else {
    requireThat(
      status === 409 && again.code === 'idempotency-mismatch',
      'L9: something else under the same key is not refused',
      { answer, again },
    );
  }
  await world.look();
  requireThat(world.events() === before, 'L9: asking again wrote something');
  world.count(isSame ? 'repeats' : 'repeats with another body');
  return `${path} ${isSame ? 'the same' : 'another'} ${status}`;
}

/** A command's id identifies its request. */
async function tamper(world: World): Promise<string | null> {
  const someone = world.chance.pick(world.livingPeople());
  if (someone === undefined) return null;
  const streamId = `credits-${someone.userId}`;
  const { events } = await world.shop.core.readStream(streamId);
  const commandId = world.chance.pick(events)?.metadata['commandId'];
  if (typeof commandId !== 'string') return null;
  const command: CreditCommand = {
    type: 'Grant',
    lotId: `lot_${'0'.repeat(26)}`,
    credits: 1_000,
    source: 'other',
    paidMinor: null,
    currency: null,
    paymentKey: null,
    grantedAt: new Date(world.now()).toISOString(),
    reason: 'operator',
  };
  const refusal = await world.shop.core.bus
    .execute(
      creditAccount,
      { streamId, command, commandId, fingerprint: 'another', actor: 'x', correlationId: 'x' },
      'http',
    )
    .then(
      () => null,
      (error: unknown) => error,
    );
  requireThat(
    refusal instanceof Problem && refusal.status === 409,
    'L9: another command under a known id is taken',
    String(refusal),
  );
  return `${someone.name} ${refusal.code}`;
}

// --- people ---

function isWaiting({ status, payment_status: paid }: Stripe.Checkout.Session): boolean {
  return status === 'complete' && paid === 'unpaid';
}

async function leave(world: World): Promise<string | null> {
  const { truth, chance } = world;
  const living = world.livingPeople();
  // Mostly a user with something in progress: a payment that a bank must confirm, or a plan.
  const busy = living.filter(
    ({ userId }) =>
      truth.sessions().some((one) => one.metadata?.['user_id'] === userId && isWaiting(one)) ||
      truth.subscriptions().some((one) => one.metadata['user_id'] === userId && isLive(one)),
  );
  const someone = chance.pick(busy.length > 0 && chance.of(0.7) ? busy : living);
  if (someone === undefined) return null;
  const answer = await world.ask(someone, '/users/me', {
    method: 'DELETE',
    body: { password: testPassword },
  });
  requireThat([0, 200].includes(answer.status), 'An erasure was refused', answer);
  // A killed process may have committed it or not.
  const { rowCount } = await world.shop.core.pool.query(
    'select from users where id = $1 and erasing_at is null',
    [someone.userId],
  );
  if (rowCount === 1) return `${someone.name} died`;
  someone.hasLeft = true;
  world.count('people who left');
  await world.signUp();
  return someone.name;
}
