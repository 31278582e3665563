import { Logger, runOnce } from 'graphile-worker';
import { sweepErasures, erasureTasks } from '#services/identity/erasure/erasure.ts';
import { createLiveTextWriter } from '#services/live/live-text.ts';
import { createOpenCalls } from '#services/optimizations/open-calls.ts';
import { sweepRuns } from '#services/optimizations/sweep.ts';
import { optimizationTasks } from '#services/optimizations/tasks.ts';
import type { PaymentDependencies } from '#services/payments/dependencies.ts';
import { sweepPlans } from '#services/payments/plans/sweep.ts';
import { createStripeProvider } from '#services/payments/stripe/adapter.ts';
import { sweepPayments } from '#services/payments/settle/sweep.ts';
import { paymentTasks } from '#services/payments/tasks.ts';
import type { Log, LogFields } from '#services/platform/process/log.ts';
import { erasureOf, openCore, paymentsOf } from '#services/core.ts';
import type { Core } from '#services/core.ts';
import { callsOf } from '#tests/support/app.ts';
import type { Calls } from '#tests/support/app.ts';
import type { TestShop } from '#tests/support/payments.ts';
import { openHttp } from '#services/http/open.ts';

/**
 * Processes of the application that can die at a named point: before or after a call of the provider,
 * of the ledger or of the database. One that is dead does nothing any more, and another one is opened
 * over the same database and the same provider.
 */
export class Killed extends Error {
  override readonly name = 'Killed';
}

/** Dies when a point that matches is passed the given time. */
export type Crash = { at: RegExp; passes: number };

export type Life = {
  isDead(): boolean;
  /** Where it died. */
  diedAt(): string | null;
  arm(crash: Crash | null): void;
  isArmed(): boolean;
  /** @throws Killed */
  pass(point: string): void;
};

function createLife(): Life {
  let crash: Crash | null = null;
  let diedAt: string | null = null;
  return {
    isDead: () => diedAt !== null,
    diedAt: () => diedAt,
    arm(wanted) {
      crash = wanted;
    },
    isArmed: () => crash !== null,
    pass(point) {
      if (diedAt !== null) throw new Killed(`Dead since ${diedAt}`);
      if (crash === null || !crash.at.test(point)) return;
      crash = { ...crash, passes: crash.passes - 1 };
      if (crash.passes > 0) return;
      diedAt = point;
      throw new Killed(`Killed ${point}`);
    },
  };
}

/** The functions of `target`, with a point before and after each. */
function mortal<Target extends object>(
  life: Life,
  place: string,
  target: Target,
  names?: readonly string[],
): Target {
  return new Proxy(target, {
    get(object, key) {
      const value: unknown = Reflect.get(object, key, object);
      if (typeof value !== 'function' || typeof key !== 'string') return value;
      const call = (given: unknown[]): unknown => Reflect.apply(value, object, given);
      if (names !== undefined && !names.includes(key)) return (...given: unknown[]) => call(given);
      const point = place === '' ? key : `${place}.${key}`;
      // Provider lists are read item by item, and synchronous functions are not calls.
      if (names === undefined && value.constructor.name !== 'AsyncFunction')
        return (...given: unknown[]) => {
          life.pass(`before ${point}`);
          return call(given);
        };
      return async (...given: unknown[]) => {
        life.pass(`before ${point}`);
        const result = await call(given);
        life.pass(`after ${point}`);
        return result;
      };
    },
  });
}

function mortalPool(life: Life, pool: Core['pool']): Core['pool'] {
  const queries = mortal(life, 'sql', pool, ['query']);
  return new Proxy(queries, {
    get(object, key) {
      if (key !== 'connect') return Reflect.get(object, key, object) as unknown;
      return async () => {
        life.pass('before sql.connect');
        return mortal(life, 'sql', await pool.connect(), ['query']);
      };
    },
  });
}

/** A logged fault. */
export type Said = { level: 'warn' | 'error'; message: string; error: unknown };

function listeningLog(said: Said[]): Log {
  const ignore = () => undefined;
  const listen =
    (level: Said['level']) =>
    (fields: LogFields | string, message: string = '') => {
      if (typeof fields === 'string') said.push({ level, message: fields, error: undefined });
      else said.push({ level, message, error: fields.err });
    };
  const log: Log = {
    fatal: listen('error'),
    error: listen('error'),
    warn: listen('warn'),
    info: ignore,
    debug: ignore,
    trace: ignore,
    child: () => log,
  };
  return log;
}

async function openMortalCore(
  shop: TestShop,
  name: string,
  resources: AsyncDisposableStack,
  said: Said[],
): Promise<{ core: Core; life: Life }> {
  const life = createLife();
  const { env } = shop.context;
  const { clock } = shop.core;
  const log = listeningLog(said);
  const core = await openCore(name, { env, log, resources }, 5, clock);
  if (env.stripe === null) throw new Error('There is no provider');
  // A caller gets each fault at once, without a pause before another try.
  const provider = createStripeProvider({ ...env.stripe, clock, networkRetries: 0 });
  const queueMail = mortal(life, '', { queueMail: core.queueMail }).queueMail;
  return {
    life,
    core: {
      ...core,
      queueMail,
      audit: mortal(life, '', { audit: core.audit }).audit,
      pool: mortalPool(life, core.pool),
      bus: mortal(life, 'bus', core.bus, ['execute']),
      ledger: mortal(life, 'ledger', core.ledger),
      sealer: mortal(life, 'sealer', core.sealer),
      provider: mortal(life, 'provider', provider),
    },
  };
}

export type Process = {
  life: Life;
  core: Core;
  payments: PaymentDependencies;
  said: Said[];
  close(): Promise<void>;
};

export type Api = Process & Calls & { post: TestShop['post'] };

export async function openApi(shop: TestShop): Promise<Api> {
  const resources = new AsyncDisposableStack();
  const said: Said[] = [];
  const { core, life } = await openMortalCore(shop, 'api', resources, said);
  const context = { env: shop.context.env, log: core.log, resources };
  const { app } = await openHttp(context, core);
  const calls = callsOf(app);
  return {
    ...calls,
    life,
    core,
    said,
    payments: paymentsOf(core),
    post: async (body, signature) =>
      app.request('http://localhost/api/webhooks/stripe', {
        method: 'POST',
        headers: {
          'content-type': 'application/json; charset=utf-8',
          ...(signature === null ? {} : { 'stripe-signature': signature }),
        },
        body,
      }),
    close: async () => resources.disposeAsync(),
  };
}

export type Worker = Process & {
  /** Runs the jobs that are due, and those that they make, until none is left or it dies. */
  runJobs(): Promise<void>;
  sweepMoney(): Promise<void>;
  sweepTheRest(): Promise<void>;
};

/** No models are called: the steps write their answers. */
export async function openWorker(shop: TestShop): Promise<Worker> {
  const resources = new AsyncDisposableStack();
  const said: Said[] = [];
  const { core, life } = await openMortalCore(shop, 'worker', resources, said);
  const { log } = core;
  const payments = paymentsOf(core);
  const liveText = createLiveTextWriter({ pool: core.pool, sealer: core.sealer, log });
  resources.defer(async () => liveText.close());
  const openCalls = createOpenCalls();
  const { control } = optimizationTasks({ ...core, liveText, openCalls, callsPerProvider: 1 });
  const { 'notify-run': _mails, ...runs } = control;
  const taskList = {
    ...runs,
    ...erasureTasks({ ...erasureOf(core), log }),
    ...paymentTasks(payments),
  };
  const swept = async (what: string, sweep: () => Promise<unknown>) => {
    if (life.isDead()) return;
    try {
      await sweep();
    } catch (error) {
      log.warn({ err: error }, `${what} could not be swept`);
    }
  };
  return {
    life,
    core,
    payments,
    said,
    async runJobs() {
      await runOnce({
        // The pool that hands out the jobs belongs to no process that dies.
        pgPool: shop.database.pool,
        taskList,
        concurrency: 1,
        noHandleSignals: true,
        logger: new Logger(() => (level, message, meta) => {
          if (level === 'error') said.push({ level, message, error: meta?.['error'] });
        }),
      });
    },
    async sweepMoney() {
      await swept('payments', async () => sweepPayments(payments));
      await swept('plans', async () => sweepPlans(payments));
    },
    async sweepTheRest() {
      await swept('runs', async () => sweepRuns(core));
      await swept('erasures', async () => sweepErasures(core.pool));
    },
    close: async () => resources.disposeAsync(),
  };
}
