import type pg from 'pg';
import { appendFunction } from '#db/append-function.ts';
import { createPool } from '#db/connect.ts';
import { watchEpoch } from '#db/backup/epoch.ts';
import { readEventsAbout, readStoredStream, readStream } from '#db/streams.ts';
import { proveAnchored } from '#db/anchors.ts';
import { projections } from '#projections/index.ts';
import { creditStream } from './credits/account/events.ts';
import { createLedger } from './credits/ledger/ledger.ts';
import type { ErasureDependencies } from './identity/erasure/erasure.ts';
import { finishedRunAddress, provedAddress } from './identity/links/notices.ts';
import { findUser } from './identity/accounts/users.ts';
import { loadCatalogue } from './models/catalogue.ts';
import { modelRegistry } from './models/registry.ts';
import { endRunsOf, hideRunsOf } from './optimizations/leave-runs.ts';
import { optimization } from './optimizations/run/optimization.ts';
import { createReadDurations } from '#services/optimizations/durations.ts';
import { createReadLanes } from './optimizations/lanes.ts';
import { createReadRun } from './optimizations/reading/read-run.ts';
import type { PaymentDependencies } from './payments/dependencies.ts';
import {
  endCheckouts,
  endPlans,
  forgetCustomer,
  refundsEmail,
  refundUnused,
} from './payments/leave-payments.ts';
import { cheapestCredit } from './payments/catalogue.ts';
import { createStripeProvider } from './payments/stripe/adapter.ts';
import { unavailableProvider } from './payments/unavailable.ts';
import { createAudit } from './platform/audit.ts';
import { createErasureLog } from './platform/process/erasure-log.ts';
import { createCommandBus, readState } from './platform/command.ts';
import { databaseUrlOf, SettingsError } from './platform/process/env.ts';
import type { Mode } from './platform/process/env.ts';
import type { ProcessContext } from './platform/process/lifecycle.ts';
import { createMailQueue } from './platform/mail/mail.ts';
import { retryWhileUnavailable } from './platform/jobs/retry-while-unavailable.ts';
import { inOneTurn } from './platform/one-turn.ts';
import { createSealer } from './platform/seal.ts';
import { streamOf } from './optimizations/run/events.ts';
import { noTelemetry } from './telemetry/open.ts';
import type { Telemetry } from './telemetry/open.ts';

/** How long a starting process waits for an unavailable database. */
const databaseUnavailableMs = 60_000;

/** What every process opens, in this order, and closes in reverse. */
export type Core = Awaited<ReturnType<typeof openCore>>;

export async function openCore(
  name: string,
  { env, log, resources, telemetry = noTelemetry }: ProcessContext & { telemetry?: Telemetry },
  /** Connections of the pool. */
  connections: number,
  clock: () => number = Date.now,
) {
  const url = databaseUrlOf(env);
  const catalogue = loadCatalogue(env.modelsFile);
  const onError = (error: Error) => log.warn({ err: error }, 'A database connection was lost');
  const pool = createPool(url, {
    max: connections,
    applicationName: `sevenfold ${name}`,
    onError,
  });
  resources.defer(async () => pool.end());
  // A supervisor counts how often a process ends; a restart of Postgres must not count.
  await retryWhileUnavailable(async () => refuseOtherMode(pool, env.mode), {
    timeoutMs: databaseUnavailableMs,
  });
  const epoch = await watchEpoch(pool, (error) =>
    log.warn({ err: error }, 'The epoch could not be read; trying again'),
  );
  resources.defer(() => epoch.close());
  // Text is also sealed inside transactions. If keys were read through the same pool, transactions that
  // hold all its connections would wait for one more, for ever.
  const keyPool = createPool(url, {
    max: 2,
    applicationName: `sevenfold ${name} keys`,
    onError,
  });
  resources.defer(async () => keyPool.end());
  const erasureLog = createErasureLog(env.erasureLog);
  const sealer = createSealer({ dataKeys: env.dataKeys, pool: keyPool, erasureLog });
  const queueMail = createMailQueue({
    pool,
    sealer,
    clock,
    sender: { productName: env.productName, contactEmail: env.contactEmail },
  });
  const bus = telemetry.observeBus(
    createCommandBus({
      pool,
      functionName: appendFunction(projections).name,
      clock,
      log,
      ...(telemetry.observeBatches && { observe: telemetry.observeBatches }),
    }),
  );
  resources.defer(async () => bus.close());
  epoch.onChange(() => {
    log.warn('Another server or a restored database answers; states in memory are dropped');
    bus.forget();
  });
  const registry = modelRegistry(env, catalogue, { clock, log });
  const read = async (streamId: string) => readStream(pool, streamId);
  // The calls of a stage begin together, and each reads the whole run.
  const readInTurn = inOneTurn(
    async (ids: readonly string[]) => new Map(ids.map((id) => [id, read(id)])),
  );
  const readRun = createReadRun({
    readStream: async (id) => (await readInTurn(id)) ?? read(id),
    sealer,
    modelOf: catalogue.modelOf,
  });
  return {
    url,
    log,
    clock,
    pool,
    epoch,
    audit: createAudit(pool),
    sealer,
    erasureLog,
    queueMail,
    finishedRunAddress: async (userId: string) => finishedRunAddress(pool, userId),
    sendsMail: env.smtpUrl !== null,
    publicUrl: env.publicUrl,
    productName: env.productName,
    contactEmail: env.contactEmail,
    bus,
    telemetry,
    beginCall: telemetry.observeCalls(catalogue),
    catalogue,
    isLocal: env.mode === 'local',
    substituteModels: env.substituteModels,
    creditUsd: cheapestCredit,
    registry,
    endpoints: env.compatibleEndpoints,
    readLanes: createReadLanes({ pool, clock, endpoints: env.compatibleEndpoints }),
    readDurations: createReadDurations({ pool, clock }),
    readStream: read,
    readStoredStream: async (streamId: string) => readStoredStream(pool, streamId),
    readRunCredits: async (userId: string, runIds: readonly string[]) =>
      readEventsAbout(pool, creditStream(userId), 'runId', runIds),
    proveAnchored: async (streamId: string) => proveAnchored(pool, streamId),
    readRun,
    readState: async (runId: string) => readState(pool, optimization, streamOf(runId)),
    ledger: createLedger({ bus, pool, sealer, readStream: read, clock }),
    /** Test keys begin otherwise, and so does the sandbox's. */
    movesMoney: /^[sr]k_live_/.test(env.stripe?.secretKey ?? ''),
    provider:
      env.stripe === null ? unavailableProvider : createStripeProvider({ ...env.stripe, clock }),
  };
}

/** @throws SettingsError when the database was written in the other mode */
async function refuseOtherMode(pool: pg.Pool, mode: Mode): Promise<void> {
  const { rows } = await pool.query<{ mode: Mode }>('select mode from database_mode');
  const marked = rows[0]?.mode ?? mode;
  if (marked !== mode)
    throw new SettingsError([
      `MODE is ${mode}, but this database was created in ${marked} mode. Use a different database.`,
    ]);
}

/** The dependencies of payments. */
export function paymentsOf(core: Core): PaymentDependencies {
  return {
    pool: core.pool,
    provider: core.provider,
    ledger: core.ledger,
    clock: core.clock,
    queueMail: core.queueMail,
    sendsMail: core.sendsMail,
    contactEmail: core.contactEmail,
    movesMoney: core.movesMoney,
    publicUrl: core.publicUrl,
    productName: core.productName,
    audit: core.audit,
    log: core.log,
    noticeAddress: async (userId) => provedAddress(core.pool, userId),
    billedPerson: async (userId) => {
      const account = await findUser(core.pool, userId);
      return account === null || account.erasing_at !== null ? null : account;
    },
  };
}

/** The dependencies of an erasure, which reaches into the other slices. */
export function erasureOf(core: Core): ErasureDependencies {
  const payments = paymentsOf(core);
  return {
    pool: core.pool,
    queueMail: core.queueMail,
    sealer: core.sealer,
    erasureLog: core.erasureLog,
    ledger: core.ledger,
    audit: core.audit,
    clock: core.clock,
    publicUrl: core.publicUrl,
    productName: core.productName,
    endRuns: async (userId) => endRunsOf(core, userId),
    hideRuns: async (userId) => hideRunsOf(core, userId),
    leavePayments: {
      endCheckouts: async (userId) => endCheckouts(payments, userId),
      endPlans: async (userId) => endPlans(payments, userId),
      refundUnused: async (userId) => refundUnused(payments, userId),
      forgetCustomer: async (userId) => forgetCustomer(payments, userId),
    },
    refundsEmail: async (userId) => refundsEmail(payments, userId),
  };
}
