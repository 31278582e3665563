import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { Logger, run as startRunner } from 'graphile-worker';
import { startListening } from '#db/listen.ts';
import { projections } from '#projections/index.ts';
import { startProjectionRunner } from '#projections/engine/run.ts';
import { createLiveTextWriter } from '#services/live/live-text.ts';
import { erasureTasks } from '#services/identity/erasure/erasure.ts';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import { streamOf } from '#services/optimizations/run/events.ts';
import type { OptimizationEvent } from '#services/optimizations/run/events.ts';
import { createOpenCalls } from '#services/optimizations/open-calls.ts';
import { optimizationTasks } from '#services/optimizations/tasks.ts';
import type { EnvSource, Persona } from '#services/platform/process/env.ts';
import { createLog } from '#services/platform/process/log.ts';
import { loadCatalogue } from '#services/models/catalogue.ts';
import type { Profile } from '#services/sandbox/models/pace.ts';
import type { Respond } from '#services/sandbox/models/personas.ts';
import { startProviderSandbox } from '#services/sandbox/models/provider-sandbox.ts';
import { createSimulator } from '#services/sandbox/models/simulator/respond.ts';
import { erasureOf } from '#services/core.ts';
import type { Core } from '#services/core.ts';
import { createTestApp } from './app.ts';
import type { Person, TestApp } from './app.ts';

/** The application with a worker and the provider sandbox, all in this process: whole runs. */
export type TestCouncil = TestApp & {
  /** Asks, starts, and waits for the end. */
  ask(person: Person, body: object): Promise<Optimization>;
  start(person: Person, body: object): Promise<Optimization>;
  ended(person: Person, runId: string): Promise<Optimization>;
  /** The providers refuse connections for half the time, answer 503 for the rest, then work again. */
  outage(milliseconds: number): Promise<void>;
};

export async function createTestCouncil(
  options: {
    personas?: Readonly<Record<string, Persona>>;
    seed?: string;
    /** `instant` when absent. */
    profile?: Profile;
    /** The answers of the models; the simulator's own when absent. */
    respond?: Respond;
    /** Settings that need the sandbox's address, which otherwise plays every vendor. */
    env?: (sandboxUrl: string) => EnvSource;
    replace?: (core: Core) => Partial<Core>;
  } = {},
): Promise<TestCouncil> {
  const seed = options.seed ?? 'test';
  const catalogue = loadCatalogue(null);
  const respond = options.respond ?? createSimulator(catalogue.strategies);
  const openSandbox = async (port: number) =>
    startProviderSandbox({
      respond,
      seed,
      catalogue,
      personas: options.personas ?? {},
      profile: options.profile ?? 'instant',
      port,
    });
  let sandbox = await openSandbox(0);
  const app = await createTestApp({
    env: { SANDBOX_URL: sandbox.url, SANDBOX_SEED: seed, ...options.env?.(sandbox.url) },
    ...(options.replace ? { replace: options.replace } : {}),
  });
  const { core } = app;
  const log = createLog({
    level: 'warn',
    process: 'test worker',
    destination: { write: (line) => void app.logged.push(line) },
  });
  const liveText = createLiveTextWriter({ pool: core.pool, sealer: core.sealer, log });
  const openCalls = createOpenCalls();
  const tasks = optimizationTasks({ ...core, liveText, openCalls, log, callsPerProvider: 32 });
  const listener = startListening({ url: core.url });
  const readModels = startProjectionRunner({
    url: core.url,
    pool: core.pool,
    projections,
    wake: listener.onWake,
  });
  listener.onWake(() => void openCalls.stopUnwanted(core.pool).catch(() => undefined));
  const runner = await startRunner({
    pgPool: core.pool,
    taskList: {
      ...tasks.control,
      ...tasks.calls,
      ...erasureTasks({ ...erasureOf(core), log }),
    },
    concurrency: 16,
    pollInterval: 200,
    noHandleSignals: true,
    logger: new Logger(() => (level, message, meta) => {
      if (level === 'error') app.logged.push(`${message} ${JSON.stringify(meta)}`);
    }),
  });

  const start: TestCouncil['start'] = async (person, body) => {
    const run = await app.data<Optimization>('/optimizations', { token: person.token, body });
    return app.data<Optimization>(`/optimizations/${run.id}/process`, {
      method: 'POST',
      token: person.token,
    });
  };
  const ended: TestCouncil['ended'] = async (person, runId) => {
    // Describing a run is expensive, and tests wait for many runs at once.
    while (!(await isClosed(app, runId))) await sleep(50);
    return app.data<Optimization>(`/optimizations/${runId}`, { token: person.token });
  };
  const outage: TestCouncil['outage'] = async (milliseconds) => {
    const port = Number(new URL(sandbox.url).port);
    await sandbox.close();
    await sleep(milliseconds / 2);
    const unavailable = createServer((_request, response) => response.writeHead(503).end());
    unavailable.listen(port, '127.0.0.1');
    await sleep(milliseconds / 2);
    unavailable.closeAllConnections();
    unavailable.close();
    sandbox = await openSandbox(port);
  };
  return {
    ...app,
    outage,
    start,
    ended,
    ask: async (person, body) => ended(person, (await start(person, body)).id),
    async close() {
      openCalls.stopAll();
      await runner.stop();
      await readModels.close();
      await listener.close();
      await liveText.close();
      await app.close();
      await sandbox.close();
    },
  };
}

const closing: OptimizationEvent['type'][] = [
  'OptimizationCompleted',
  'OptimizationFailed',
  'OptimizationCancelled',
];

async function isClosed({ core }: TestApp, runId: string): Promise<boolean> {
  const { rowCount } = await core.pool.query(
    'select from emt_messages where stream_id = $1 and message_type = any($2)',
    [streamOf(runId), closing],
  );
  return rowCount === 1;
}
