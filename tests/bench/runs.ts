import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createParser } from 'eventsource-parser';
import type pg from 'pg';
import { appendFunction } from '#db/append-function.ts';
import { startListening } from '#db/listen.ts';
import type { Wake } from '#db/tail.ts';
import { projections } from '#projections/index.ts';
import type { ConsumeReply } from '#services/credits/contract.ts';
import { issueServiceToken } from '#services/identity/service-tokens.ts';
import { createCommandBus } from '#services/platform/command.ts';
import type { Log } from '#services/platform/process/log.ts';
import { createSupervisor, processService } from '#services/platform/process/supervise.ts';
import { ledgerOf } from '#tests/credits/ledger.ts';
import { testPassword } from '#tests/support/password.ts';
import { loopFor, milliseconds, percentile, printTable, ratio } from './report.ts';

/**
 * Whole runs in the instant profile through the real processes, with the commits and jobs on the way
 * from start to end; and how long a commit takes to reach a client of the stream.
 */
export async function benchRuns(options: {
  appUrl: string;
  dataDir: string;
  pool: pg.Pool;
  log: Log;
  runs: number;
  facts: number;
}): Promise<void> {
  const { appUrl, dataDir, pool, log } = options;
  const supervisor = createSupervisor(log);
  const port = 20_000 + Math.floor(Math.random() * 20_000);
  const variables = {
    DATABASE_URL: appUrl,
    DATA_DIR: dataDir,
    SANDBOX_URL: `http://127.0.0.1:${port + 1}`,
    SANDBOX_PROFILE: 'instant',
    PORT: String(port),
    LOG_LEVEL: 'error',
    RATE_LIMITS: 'off',
    REQUIRE_EMAIL_CONFIRMATION: 'false',
  };
  const service = (name: string, file: string) =>
    processService({
      name,
      file: join(import.meta.dirname, '../../services', file),
      variables,
    });
  try {
    await supervisor.start(service('sandbox', 'sandbox/server.ts'));
    const [, api] = await supervisor.start(
      service('worker', 'worker.ts'),
      service('api', 'api.ts'),
    );
    const client = await signIn(String(api?.['address']), options);
    const listener = startListening({ url: appUrl });
    await wholeRuns(client, { pool, wake: listener.onWake }, options.runs);
    await listener.close();
    await commitToClient(client, options);
  } finally {
    await supervisor.stop();
  }
}

type Client = {
  call: <Data>(method: string, path: string, body?: unknown) => Promise<Data>;
  /** One credit, by another service. The balance afterwards. */
  consume: () => Promise<number>;
  stream: (signal: AbortSignal) => Promise<Response>;
};

type Grants = { pool: pg.Pool; log: Log };

export async function send<Data>(
  address: string,
  bearer: string,
  method: string,
  path: string,
  body?: unknown,
): Promise<Data> {
  const response = await fetch(`${address}/api${path}`, {
    method,
    headers: {
      'content-type': 'application/json',
      'idempotency-key': randomUUID(),
      ...(bearer === '' ? {} : { authorization: `Bearer ${bearer}` }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${text}`);
  return (JSON.parse(text) as { data: Data }).data;
}

/** A new user with more credits than a benchmark needs. */
export async function signUp(
  address: string,
  { pool, log }: Grants,
): Promise<{ token: string; userId: string }> {
  const account = {
    name: 'Bench',
    email: `bench-${randomUUID()}@example.com`,
    password: testPassword,
  };
  const { token, user } = await send<{ token: string; user: { id: string } }>(
    address,
    '',
    'POST',
    '/auth/signup',
    account,
  );
  const bus = createCommandBus({
    pool,
    functionName: appendFunction(projections).name,
    clock: Date.now,
    log,
  });
  await ledgerOf(pool, bus).give({
    userId: user.id,
    credits: 1_000_000,
    source: 'other',
    reason: 'operator',
    actor: 'bench',
    commandId: randomUUID(),
  });
  await bus.close();
  return { token, userId: user.id };
}

async function signIn(address: string, grants: Grants): Promise<Client> {
  const { token, userId } = await signUp(address, grants);
  const service = { name: 'Bench', scope: 'credits:consume', dailyCap: 1_000_000 } as const;
  const { secret } = await issueServiceToken(
    grants.pool,
    { ...service, createdBy: 'bench' },
    new Date(),
  );
  return {
    call: async <Data>(method: string, path: string, body?: unknown) =>
      send<Data>(address, token, method, path, body),
    async consume() {
      const body = { user_id: userId, credits: 1, reason: 'Bench' };
      const { balance } = await send<ConsumeReply>(
        address,
        secret,
        'POST',
        '/credits/consume',
        body,
      );
      return balance.available_credits;
    },
    stream: async (signal) =>
      fetch(`${address}/api/stream`, { headers: { authorization: `Bearer ${token}` }, signal }),
  };
}

async function wholeRuns(
  { call }: Client,
  { pool, wake }: { pool: pg.Pool; wake: Wake },
  runs: number,
): Promise<void> {
  const times: number[] = [];
  const commits: number[] = [];
  const jobs: number[] = [];
  const overModels: number[] = [];
  for (let number = 0; number <= runs; number += 1) {
    const { id } = await call<{ id: string }>('POST', '/optimizations', {
      challenge: `Should I open a second workshop number ${number}, or raise my prices?`,
      strategy: 'balanced',
    });
    const begun = performance.now();
    await call('POST', `/optimizations/${id}/process`);
    await ended(pool, wake, id);
    // The first one warms up.
    if (number === 0) continue;
    const took = performance.now() - begun;
    const path = await criticalPath(pool, id);
    times.push(took);
    overModels.push(took - path.modelMs);
    commits.push(path.commits);
    jobs.push(path.jobs);
  }
  printTable('A balanced run, instant profile', [
    ['runs', 'median ms', 'over its models', 'p99 ms', 'commits on the path', 'jobs on the path'],
    [
      times.length,
      milliseconds(percentile(times, 0.5)),
      milliseconds(percentile(overModels, 0.5)),
      milliseconds(percentile(times, 0.99)),
      percentile(commits, 0.5),
      percentile(jobs, 0.5),
    ],
  ]);
}

async function ended(pool: pg.Pool, wake: Wake, runId: string): Promise<void> {
  for (;;) {
    const { promise: woken, resolve } = Promise.withResolvers<void>();
    const unsubscribe = wake(resolve);
    try {
      const { rows } = await pool.query<{ status: string }>(
        'select status from optimization_list where run_id = $1',
        [runId],
      );
      const status = rows[0]?.status;
      if (status === 'completed') return;
      if (status !== 'pending' && status !== 'processing') throw new Error(`The run ${status}`);
      await Promise.race([woken, sleep(1_000)]);
    } finally {
      unsubscribe();
    }
  }
}

/**
 * The chain of commits that each wait for the one before: hold, start, then per stage the begin and
 * the end of the call that closed it, conclusion, settlement, close. A batch may join several. `modelMs`
 * is what those calls waited for their models.
 */
async function criticalPath(
  pool: pg.Pool,
  runId: string,
): Promise<{ commits: number; jobs: number; modelMs: number }> {
  const { rows } = await pool.query<{
    xid: string;
    type: string;
    slot: string | null;
    ms: number | null;
  }>(
    `select transaction_id::text as xid, message_type as type, message_data ->> 'slot' as slot,
       (message_data ->> 'latencyMs')::float8 as ms
     from emt_messages
     where stream_id = 'optimization-' || $1 or message_data ->> 'runId' = $1
     order by transaction_id, global_position`,
    [runId],
  );
  const closers = [
    'OpinionsClosed',
    'ClaimsFixed',
    'ScoresComputed',
    'DraftChecked',
    'RunConcluded',
  ];
  const ends = rows.filter((row) => closers.includes(row.type)).map((row) => row.xid);
  const calls = ends.flatMap(
    (end) => rows.find((row) => row.xid === end && row.type === 'CallSucceeded') ?? [],
  );
  const begins = calls.flatMap(
    ({ slot }) => rows.find((row) => row.type === 'CallStarted' && row.slot === slot)?.xid ?? [],
  );
  const others = rows
    .filter((row) =>
      ['CreditsReserved', 'ProcessingStarted', 'CreditsCaptured', 'OptimizationCompleted'].includes(
        row.type,
      ),
    )
    .map((row) => row.xid);
  // One job for each stage's closing call, and the settlement.
  return {
    commits: new Set([...ends, ...begins, ...others]).size,
    jobs: ends.length + 1,
    modelMs: calls.reduce((sum, { ms }) => sum + (ms ?? 0), 0),
  };
}

async function commitToClient(
  { consume, stream }: Client,
  options: Grants & { facts: number },
): Promise<void> {
  const { facts } = options;
  const waiting = new Map<number, (at: number) => void>();
  const arrived = new Map<number, number>();
  const stop = new AbortController();
  const response = await stream(stop.signal);
  const parser = createParser({
    onEvent({ event, data }) {
      if (event !== 'fact') return;
      const { type, patch } = JSON.parse(data) as {
        type: string;
        patch: { available_credits: number };
      };
      if (type !== 'CreditsConsumed') return;
      const now = performance.now();
      arrived.set(patch.available_credits, now);
      waiting.get(patch.available_credits)?.(now);
    },
  });
  const reading = (async () => {
    const decoder = new TextDecoder();
    try {
      for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>)
        parser.feed(decoder.decode(chunk, { stream: true }));
    } catch (error) {
      if (!stop.signal.aborted) throw error;
    }
  })();
  await sleep(200);
  const others = await Promise.all(
    Array.from({ length: 32 }, async () =>
      signIn(response.url.replace(/\/api\/stream$/, ''), options),
    ),
  );
  const idle = await measure(consume, arrived, waiting, facts);
  const noise = loopFor(facts * 60, 32, async (writer) => others[writer]?.consume());
  const busy = await measure(consume, arrived, waiting, facts);
  await noise;
  stop.abort();
  await reading;
  printTable('From the answer to a write to the fact at a client of the stream', [
    ['', 'facts', 'p50 ms', 'p99 ms', 'p50 of idle'],
    [
      'idle',
      idle.length,
      milliseconds(percentile(idle, 0.5)),
      milliseconds(percentile(idle, 0.99)),
      '1.00×',
    ],
    [
      'under 32 writers',
      busy.length,
      milliseconds(percentile(busy, 0.5)),
      milliseconds(percentile(busy, 0.99)),
      ratio(percentile(busy, 0.5), percentile(idle, 0.5)),
    ],
  ]);
}

/** From sending a write to its fact: both ends are seen by this process. */
async function measure(
  consume: Client['consume'],
  arrived: ReadonlyMap<number, number>,
  waiting: Map<number, (at: number) => void>,
  facts: number,
): Promise<number[]> {
  const times: number[] = [];
  for (let number = 0; number < facts; number += 1) {
    const sent = performance.now();
    const left = await consume();
    const at =
      arrived.get(left) ??
      (await new Promise<number>((resolve) => {
        waiting.set(left, resolve);
      }));
    waiting.delete(left);
    times.push(at - sent);
    await sleep(10);
  }
  return times;
}
