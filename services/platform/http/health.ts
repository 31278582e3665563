import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import type { SetAsideList } from '#projections/engine/set-aside.ts';
import type { platformEndpoints, ReadyReply } from '#services/platform/contract.ts';
import { answerData } from './http.ts';
import type { Handlers } from './serve.ts';

/** A worker whose last heartbeat is older is not running. */
export const heartbeatStaleSeconds = 30;
const maxReaderLagMs = 30_000;

/** A load balancer asks often and waits briefly; a database that takes longer is not there for users either. */
const answersWithinMs = 3_000;

/** Set-aside streams that the response names. */
const namedStreams = 10;

export type HealthDependencies = {
  pool: pg.Pool;
  /** The append function that this code calls; it exists once this version's migrations ran. */
  functionName: string;
  /** Milliseconds that the live reader of this process is behind the log. */
  readerLagMs: () => Promise<number>;
  /** Streams that the read models could not take in, the first `limit` of them. */
  readSetAside: (limit: number) => Promise<SetAsideList>;
  version: string;
};

/** `health` says that the process lives, `ready` that it can do its work. */
export function healthHandlers(dependencies: HealthDependencies) {
  return {
    'GET /health': () => ({ status: 'ok', version: dependencies.version }),
    'GET /ready': async ({ context }) => {
      const checks = (await orNull(readiness(dependencies))) ?? unreachable;
      const ready = Object.values(checks).every((check) => check === 'ok');
      const reply: ReadyReply = {
        status: ready ? 'ready' : 'not_ready',
        checks,
        set_aside: checks.database === 'ok' ? await orNull(setAside(dependencies)) : null,
      };
      return ready ? reply : answerData(context, reply, 503);
    },
  } satisfies Partial<Handlers<typeof platformEndpoints>>;
}

const unreachable: ReadyReply['checks'] = {
  database: 'failed',
  migrations: 'failed',
  reader: 'failed',
  worker: 'failed',
};

/** Null when there is no answer in time. */
async function orNull<Answer>(answer: Promise<Answer>): Promise<Answer | null> {
  return Promise.race([answer, sleep(answersWithinMs, null, { ref: false })]);
}

async function readiness({
  pool,
  functionName,
  readerLagMs,
}: HealthDependencies): Promise<ReadyReply['checks']> {
  const statement = {
    text: `select exists (select from pg_proc where proname = $1) as migrated,
         exists (select from process_heartbeat where kind = 'worker'
           and beat_at > now() - make_interval(secs => $2)) as working`,
    values: [functionName, heartbeatStaleSeconds],
    // Or each call would keep a connection of the pool busy for a minute.
    query_timeout: answersWithinMs,
  };
  const found = await pool
    .query<{ migrated: boolean; working: boolean }>(statement)
    // This call exists to report an unreachable database: it is not an error.
    .catch(() => null);
  const row = found?.rows[0];
  // The connection may be lost between the two queries; then the lag is unknown.
  const lag = row
    ? await readerLagMs().catch(() => Number.POSITIVE_INFINITY)
    : Number.POSITIVE_INFINITY;
  return {
    database: word(row !== undefined),
    migrations: word(row?.migrated === true),
    reader: word(lag < maxReaderLagMs),
    worker: word(row?.working === true),
  };
}

/** The endpoint is public, so the error's text, which may hold values of the event, is left out. */
async function setAside({ readSetAside }: HealthDependencies): Promise<ReadyReply['set_aside']> {
  // The checks report an unreachable database.
  const found = await readSetAside(namedStreams).catch(() => null);
  if (found === null) return null;
  const streams = found.streams.map(({ projection, streamId, event, sqlstate }) => ({
    projection,
    stream: streamId,
    event,
    error: sqlstate,
  }));
  return { total: found.total, streams };
}

function word(fine: boolean): 'ok' | 'failed' {
  return fine ? 'ok' : 'failed';
}
