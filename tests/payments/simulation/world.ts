import { randomUUID } from 'node:crypto';
import type { Stripe } from 'stripe';
import { NotGrantedYet } from '#services/payments/settle/find.ts';
import { Problem } from '#services/platform/problem.ts';
import { WireError } from '#services/sandbox/stripe/wire.ts';
import type { CallOptions, Person } from '#tests/support/app.ts';
import { testPassword } from '#tests/support/password.ts';
import { createTestShop } from '#tests/support/payments.ts';
import type { TestShop } from '#tests/support/payments.ts';
import { createChance } from '#tests/support/chance.ts';
import type { Chance } from '#tests/support/chance.ts';
import { Fault, requireThat } from '#tests/credits/ledger-oracle.ts';
import { createWatch } from './ledger-watch.ts';
import type { Watch, WatchedAccount } from './ledger-watch.ts';
import { Killed, openApi, openWorker } from './processes.ts';
import type { Api, Process, Said, Worker } from './processes.ts';
import { createTruth } from './truth.ts';
import type { Truth } from './truth.ts';
import { eventColumns, recordedEvent } from '#db/recorded-event.ts';
import type { EventRow } from '#db/recorded-event.ts';

/**
 * A small town with a shop: people with purses, an API process, a worker, one database, and a payment
 * provider that all see the same clock, which moves only when a step moves it. Everything that happens
 * is drawn from one seed.
 */
export type Someone = Person & {
  name: string;
  signedInAt: number;
  /** Has requested erasure and is no longer a customer. */
  hasLeft: boolean;
};

export type Answer = { status: number; data: unknown; code: string | null; reason: string | null };

export type Run = { runId: string; someone: Someone; texts: 'real' | 'none' };

export type World = {
  chance: Chance;
  shop: TestShop;
  truth: Truth;
  watch: Watch;
  people: Someone[];
  runs: Run[];
  /** Answered requests with a key, to be repeated. */
  asked: Asked[];
  service: { secret: string };
  figures: Map<string, number>;
  api: () => Api;
  worker: () => Worker;
  now: () => number;
  /** When its life began, in milliseconds since 1970. */
  begun: number;
  /** Advances time: due changes at the provider, and waiting jobs. */
  pass: (ms: number) => Promise<void>;
  count: (name: string, by?: number) => void;
  signUp: () => Promise<Someone>;
  /** Calls the API as a user, who signs in again when needed. */
  ask: (someone: Someone, path: string, options?: CallOptions) => Promise<Answer>;
  /** Something of the provider that may be impossible by now. False when it was. */
  atProvider(work: () => unknown): boolean;
  runJobs: () => Promise<void>;
  sweep: () => Promise<void>;
  /** Work of the worker's that is no job; false when it refused or died. */
  byWorker(work: (worker: Worker) => Promise<unknown>): Promise<boolean>;
  /** Restarts dead processes, and reports all other faults. */
  tidy: () => Promise<void>;
  /** Whether a call of the provider may be refused, lost or doubted in this step. */
  isFaulty: () => boolean;
  clearFaults: () => void;
  /** At the end of a step: whether the provider is still about to fail. */
  noteFaults: () => void;
  /** Reads the appended events and compares them with the displayed figures. */
  look: () => Promise<void>;
  events: () => number;
  livingPeople: () => Someone[];
  accountOf: (someone: Someone) => WatchedAccount;
  close: () => Promise<void>;
};

export type Asked = {
  someone: Someone;
  path: string;
  body: unknown;
  otherBody: unknown;
  key: string;
  answer: Answer;
};

/** Far from the database's own time, so that the two clocks cannot be confused. */
const beginning = Date.parse('2031-03-01T08:00:00.000Z');
const tokenMs = 9 * 60_000;
/** How long a checkout is retried under the same key. */
const resumableMs = 26 * 60_000;

export async function createWorld(seed: number): Promise<World> {
  const chance = createChance(seed);
  let now = beginning;
  const shop = await createTestShop({ clock: () => now, seed: `simulation ${seed}` });
  const { pool } = shop.database;
  const { faults } = shop.stripe;
  const truth = createTruth(shop.stripe);
  const limits = new Map<string, number>();
  const watch = createWatch({
    truth,
    now: () => now,
    limitOf: (userId) => limits.get(userId) ?? 0,
  });
  let api = await openApi(shop);
  let worker = await openWorker(shop);
  const figures = new Map<string, number>();
  const people: Someone[] = [];
  let lastPosition = '0';
  let events = 0;
  let wasFaulty = false;

  const count: World['count'] = (name, by = 1) => {
    figures.set(name, (figures.get(name) ?? 0) + by);
  };

  shop.stripe.receive(async (body, signature) => {
    const { type } = JSON.parse(body) as Stripe.Event;
    if (!shop.handledTypes.has(type)) return 200;
    if (api.life.isDead()) return 0;
    count('webhooks');
    const { status } = await api.post(body, signature);
    return status;
  });

  // --- time ---

  /** Jobs wait by the database's clock: until a time of ours, or for a duration from now. */
  async function moveJobs(): Promise<void> {
    await pool.query(
      `update graphile_worker._private_jobs set run_at = now()
       where run_at > now() and run_at <= $1 and locked_at is null`,
      [new Date(now)],
    );
  }

  async function keepWaiting(): Promise<void> {
    await pool.query(
      `update graphile_worker._private_jobs
       set run_at = $1::timestamptz + make_interval(secs => round(extract(epoch from run_at - now())))
       where run_at > now() + interval '100 milliseconds' and run_at < now() + interval '300 days'`,
      [new Date(now)],
    );
  }

  // --- processes ---

  async function reopen(): Promise<void> {
    if (api.life.isDead()) {
      died('api', api);
      await api.close();
      api = await openApi(shop);
    }
    if (worker.life.isDead()) {
      died('worker', worker);
      await worker.close();
      worker = await openWorker(shop);
      // Jobs that it had begun are given to another process after a moment.
      await pool.query(
        `update graphile_worker._private_jobs
         set run_at = now(), attempts = greatest(0, attempts - 1)
         where last_error like '%Killed%'`,
      );
    }
  }

  function died(name: string, { life }: Process): void {
    count('crashes');
    count(`crash: ${name} ${life.diedAt()}`);
  }

  /** Log messages that the simulated faults may cause. */
  function isExpected({ error }: Said, process: Process): boolean {
    if (error === undefined) return true;
    if (error instanceof Killed) return process.life.isDead();
    // The queue wraps the error of a job.
    if (error instanceof NotGrantedYet) return true;
    if (error instanceof Problem && error.status === 503)
      return wasFaulty || hearsOldFaults(Number.POSITIVE_INFINITY);
    if (error instanceof Error && error.message === 'The purchase does not say yet that it is paid')
      return true;
    return false;
  }

  /** A fault that was answered once is answered again under the same key; checkouts give it up then. */
  function hearsOldFaults(forMs: number): boolean {
    return shop.stripe.world.store
      .entries('answer')
      .some(([, { status, at }]) => status >= 500 && now - at < forMs);
  }

  function complain(process: Process, name: string): void {
    const said = process.said.splice(0);
    for (const one of said) {
      if (isExpected(one, process) && !unexpectedWords.has(one.message)) continue;
      if (process.life.isDead() && isEchoOfDeath(one)) continue;
      throw new Fault(
        `The ${name} says: ${one.message} ${one.error instanceof Error ? (one.error.stack ?? '') : String(one.error)}`,
        { cause: one.error },
      );
    }
  }

  const tidy: World['tidy'] = async () => {
    complain(api, 'api');
    complain(worker, 'worker');
    await reopen();
  };

  // --- calls ---

  async function signIn(someone: Someone): Promise<boolean> {
    if (now - someone.signedInAt < tokenMs) return true;
    const body = { email: someone.email, password: testPassword };
    const response = await api.call('/auth/login', { body });
    const reply = (await response.json()) as { data?: { token: string } };
    if (reply.data === undefined) return false;
    someone.token = reply.data.token;
    someone.signedInAt = now;
    return true;
  }

  const ask: World['ask'] = async (someone, path, options = {}) => {
    if (!(await signIn(someone))) {
      requireThat(someone.hasLeft || api.life.isDead(), 'A user cannot sign in', { path });
      return { status: api.life.isDead() ? 0 : 401, data: null, code: null, reason: null };
    }
    const response = await api.call(path, { ...options, token: someone.token });
    const reply = (await response.json()) as { data?: unknown; code?: string; reason?: string };
    const { code = null, reason = null } = reply;
    if (api.life.isDead()) return { status: 0, data: null, code, reason };
    const isUnavailable = response.status === 503 && (wasFaulty || hearsOldFaults(resumableMs));
    const isAllowed = response.status < 500 || isUnavailable;
    if (!isAllowed) complain(api, 'api');
    requireThat(isAllowed, `${path} answered ${response.status}`, reply);
    return { status: response.status, data: reply.data, code, reason };
  };

  return {
    chance,
    shop,
    truth,
    watch,
    people,
    figures,
    runs: [],
    asked: [],
    service: await serviceToken(shop),
    api: () => api,
    worker: () => worker,
    now: () => now,
    begun: beginning,
    events: () => events,
    count,
    ask,
    tidy,
    async pass(ms) {
      now += ms;
      shop.stripe.advance(0);
    },
    async signUp() {
      const person = await shop.signUp();
      const name = `P${people.length + 1}`;
      const someone: Someone = { ...person, name, signedInAt: now, hasLeft: false };
      people.push(someone);
      await pool.query('update users set email_confirmed_at = created_at where id = $1', [
        person.userId,
      ]);
      return someone;
    },
    atProvider(work) {
      try {
        work();
        return true;
      } catch (error) {
        if (error instanceof WireError) return false;
        throw error;
      }
    },
    async runJobs() {
      await moveJobs();
      await worker.runJobs();
      await keepWaiting();
    },
    async sweep() {
      await worker.sweepMoney();
      await worker.sweepTheRest();
    },
    async byWorker(work) {
      try {
        await work(worker);
        return true;
      } catch (error) {
        if (error instanceof Killed && worker.life.isDead()) return false;
        if (error instanceof Problem && (error.status !== 503 || wasFaulty)) return false;
        throw error;
      }
    },
    isFaulty: () => wasFaulty,
    clearFaults() {
      for (const name of ['tooMany', 'failAfterCommit', 'loseReply', 'only'] as const)
        delete faults[name];
      wasFaulty = false;
    },
    async look() {
      const { rows } = await pool.query<EventRow>(
        `select ${eventColumns} from emt_messages m where m.global_position > $1::bigint
         order by m.global_position`,
        [lastPosition],
      );
      lastPosition = rows.at(-1)?.global_position ?? lastPosition;
      events += rows.length;
      const changed = watch.take(rows.map(recordedEvent));
      if (changed.length > 0) await compareShown(pool, changed);
      for (const { user_id: userId, tier } of (
        await pool.query<{ user_id: string; tier: string }>(
          'select id as user_id, subscription_tier as tier from users',
        )
      ).rows)
        limits.set(userId, shop.context.env.monthlyLimits[tier] ?? 0);
    },
    noteFaults() {
      const { tooMany = 0, failAfterCommit = 0, loseReply = 0 } = faults;
      wasFaulty = tooMany + failAfterCommit + loseReply > 0;
    },
    livingPeople: () => people.filter(({ hasLeft }) => !hasLeft),
    accountOf: ({ userId }) => watch.accountOf(userId),
    async close() {
      await api.close();
      await worker.close();
      await shop.close();
    },
  };
}

/** Where something is said without an error, and must never be. */
const unexpectedWords: ReadonlySet<string> = new Set([
  'A payment does not fit its purchase, and nothing was granted',
  'A paid invoice is for nothing that we sell, and nothing was granted',
  'A paid invoice belongs to no user',
  'A subscription belongs to no user',
  'The database refused the events of a command',
  'A stream could not be folded',
]);

function isEchoOfDeath({ error }: Said): boolean {
  return error instanceof Error && /Killed|Dead since/.test(`${error.name} ${error.message}`);
}

async function serviceToken(shop: TestShop): Promise<{ secret: string }> {
  const { issueToken } = await import('#tests/support/processes/service.ts');
  return issueToken(shop, 1_000_000);
}

/** The row and the history of each changed account, against the books of the watch. */
async function compareShown(
  pool: TestShop['database']['pool'],
  accounts: readonly WatchedAccount[],
): Promise<void> {
  const { rows } = await pool.query<{
    user_id: string;
    available: number;
    held: number;
    debt: number;
    version: number;
    history: number;
  }>(
    `select user_id, available::float8, held::float8, debt::float8, version::float8,
       (select coalesce(sum(amount), 0)::float8 from credit_history h
        where h.user_id = account.user_id) as history
     from credit_account account where user_id = any ($1)`,
    [accounts.map(({ userId }) => userId)],
  );
  for (const account of accounts) {
    const { version, userId } = account;
    const balance = account.balance();
    const row = rows.find((one) => one.user_id === userId);
    requireThat(
      row?.available === balance.available &&
        row.held === balance.held &&
        row.debt === balance.debt &&
        row.version === version,
      'The row of an account is another',
      { row, balance },
    );
    requireThat(
      row.history === balance.available + balance.held - balance.debt,
      'The history does not add up to the balance',
      { row, balance },
    );
  }
}

export function freshKey(): string {
  return randomUUID();
}
