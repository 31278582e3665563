import { setTimeout as sleep } from 'node:timers/promises';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import type { CheckoutReply } from '#services/payments/contract.ts';
import { follow } from '#tests/processes/support/follow.ts';
import type { Person } from '#tests/support/app.ts';
import { createChance } from '#tests/support/chance.ts';
import type { Chance } from '#tests/support/chance.ts';
import { testPassword } from '#tests/support/password.ts';
import { eventually } from '#tests/support/processes/processes.ts';
import type { Client } from '#tests/support/processes/processes.ts';
import type { Timed } from './pace.ts';

/** What one person has done; the test compares it with the application's books. */
export type Someone = {
  person: Person;
  runs: string[];
  /** Lists do not show them. */
  refinements: string[];
  bought: number;
  /** Visits, one after another, until it is over. Any answer that is not expected throws. */
  live(isOver: () => boolean): Promise<void>;
};

export type Stage = {
  url: string;
  client: Client;
  /** Runs the call and keeps how long it took, under the name of its kind. */
  timed: Timed;
};

const strategies = ['ultra-economy', 'fast', 'economy', 'balanced'];
const runsInVisit = 3;
/** Between two reads of a page. */
const pauseMs = 2_000;
const longestRunMs = 300_000;
const packCredits = 50;

export function createSomeone(stage: Stage, person: Person, seed: number): Someone {
  const chance = createChance(seed);
  const someone: Someone = {
    person,
    runs: [],
    refinements: [],
    bought: 0,
    async live(isOver) {
      for (let visit = 0; !isOver(); visit += 1) {
        await signIn(stage, person);
        await visitOnce(stage, someone, chance, isOver);
        await signOut(stage, person);
      }
    },
  };
  return someone;
}

async function visitOnce(
  stage: Stage,
  someone: Someone,
  chance: Chance,
  isOver: () => boolean,
): Promise<void> {
  const { client, timed } = stage;
  const { token } = someone.person;
  for (let number = 0; number < runsInVisit && !isOver(); number += 1) {
    const body = {
      challenge: `Rent or buy workshop ${someone.runs.length}?`,
      strategy: chance.pick(strategies),
    };
    const run = await timed('call', async () =>
      client.data<Optimization>('/optimizations', { token, body }),
    );
    await timed('call', async () =>
      client.data(`/optimizations/${run.id}/process`, { token, method: 'POST' }),
    );
    someone.runs.push(run.id);
    await watch(stage, someone, run.id, chance);
    if (chance.of(0.4)) await refine(stage, someone, run.id, chance);
  }
  await buy(stage, someone);
  await exportAll(stage, someone);
}

/** Follows a run to its end as the page of the run does, and meanwhile reads other pages. */
async function watch(stage: Stage, someone: Someone, runId: string, chance: Chance): Promise<void> {
  const { client, url } = stage;
  const { token } = someone.person;
  await using follower = follow({ url: () => url, token: () => token, watching: runId });
  if (chance.of(0.15)) {
    await sleep(chance.between(0, 20_000));
    const { status } = await client.call(`/optimizations/${runId}/cancel`, {
      token,
      method: 'POST',
    });
    // It may have ended.
    if (status !== 202 && status !== 409) throw new Error(`Cancelling answered ${status}`);
  }
  const patience = AbortSignal.timeout(longestRunMs);
  while (follower.run()?.stage !== 'closed') {
    patience.throwIfAborted();
    await browse(stage, someone, chance);
  }
  await open(stage, someone, runId);
}

const pages = [
  '/optimizations?limit=20',
  '/optimizations/brief',
  '/optimizations/usage',
  '/credits/balance',
  '/credits/history?limit=50',
  '/credits/analytics',
  '/credits/purchases',
  '/users/me',
  '/users/me/stats',
];

async function browse({ client, timed }: Stage, someone: Someone, chance: Chance): Promise<void> {
  const { token } = someone.person;
  await timed('call', async () => client.data(chance.pick(pages)!, { token }));
  await sleep(pauseMs);
}

/** The result as a page, and as files. */
async function open({ client, timed }: Stage, someone: Someone, runId: string): Promise<void> {
  const { token } = someone.person;
  const path = `/optimizations/${runId}`;
  const { status } = await timed('call', async () => client.data<Optimization>(path, { token }));
  if (status !== 'completed') return;
  await timed('call', async () => client.data(`${path}/claims`, { token }));
  await readAll(await client.call(`${path}/markdown`, { token }));
  await readAll(await client.call(`${path}/evidence`, { token }));
}

async function refine(
  stage: Stage,
  someone: Someone,
  runId: string,
  chance: Chance,
): Promise<void> {
  const { client, timed } = stage;
  const { token } = someone.person;
  const { refinable } = await client.data<Optimization>(`/optimizations/${runId}`, { token });
  if (refinable?.allowed !== true) return;
  const body = { instruction: 'Consider a lease of two years.', price: refinable.price };
  const { id } = await timed('call', async () =>
    client.data<Optimization>(`/optimizations/${runId}/refine`, { token, body }),
  );
  someone.refinements.push(id);
  await watch(stage, someone, id, chance);
}

/** Pays on the page of the simulated payment provider, and waits for the credits. */
async function buy({ client, timed, url }: Stage, someone: Someone): Promise<void> {
  const { token } = someone.person;
  const { session_id: session } = await timed('call', async () =>
    client.data<CheckoutReply>('/credits/purchase', { token, body: { package_id: 'boost-50' } }),
  );
  await readAll(
    await fetch(`${url}/dev/stripe/checkout/${session}/pay`, {
      method: 'POST',
      headers: { accept: 'application/json' },
    }),
  );
  someone.bought += packCredits;
  await eventually('the credits of a purchase', async () => {
    const path = '/credits/balance';
    const { total_purchased: purchased } = await client.data<{ total_purchased: number }>(path, {
      token,
    });
    return purchased === someone.bought;
  });
}

async function exportAll({ client }: Stage, someone: Someone): Promise<void> {
  const { token } = someone.person;
  for (const path of ['/credits/history?format=csv', '/optimizations?format=csv'])
    await readAll(await client.call(path, { token }));
  // Everything that is kept about the person; its limit is 100 an hour.
  await readAll(await client.call('/users/me/export', { token }));
}

async function readAll(response: Response): Promise<void> {
  const text = await response.text();
  if (!response.ok) throw new Error(`${response.url} answered ${response.status}: ${text}`);
}

export async function signIn({ client, timed }: Stage, person: Person): Promise<void> {
  const body = { email: person.email, password: testPassword };
  const { token } = await timed('sign-in', async () =>
    client.data<{ token: string }>('/auth/login', { body }),
  );
  person.token = token;
}

/** Afterwards the token is refused. */
async function signOut({ client }: Stage, { token }: Person): Promise<void> {
  await client.data('/auth/logout', { method: 'POST', token });
  const { status } = await client.call('/credits/balance', { token });
  if (status !== 401) throw new Error(`A token answered ${status} after its session had ended`);
}
