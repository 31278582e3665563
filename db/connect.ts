import { callbackify } from 'node:util';
import pg from 'pg';

export type ConnectionOptions = {
  /** Connections at most. */
  max: number;
  /** Shown in pg_stat_activity. */
  applicationName: string;
};

export type PoolOptions = ConnectionOptions & {
  /**
   * Reports lost connections, for the log. The query on such a connection fails with the same error.
   */
  onError: (error: Error) => void;
  /** For migrations, which may build an index for minutes. */
  longTransactions?: boolean;
  /** Postgres cancels a statement after this long; unset: it does not. */
  statementMs?: number;
  /** For tests. */
  silenceMs?: number;
};

/** A pool, or one of its clients inside a transaction. */
export type Queryable = Pick<pg.ClientBase, 'query'>;

/**
 * Bounds on one transaction: an open transaction holds back every reader of events until it ends.
 */
const transactionLimits = { idleMs: 15_000, wholeMs: 60_000 };

/**
 * How long a connection may leave a statement unanswered. The server ends every transaction before; so the
 * network has lost the connection, which TCP alone notices after a quarter of an hour.
 */
const silenceMs = transactionLimits.wholeMs + 5_000;

const keepAliveMs = 10_000;
export const connectTimeoutMs = 10_000;

/**
 * A pg pool. int8 comes as a string of digits and json as JSON.parse reads it, whatever other
 * packages set on the driver's global parsers.
 */
export function createPool(connectionString: string, options: PoolOptions): pg.Pool {
  const pool = new pg.Pool({
    ...target(connectionString, options),
    max: options.max,
    application_name: options.applicationName,
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveMs,
    connectionTimeoutMillis: connectTimeoutMs,
    ...(options.longTransactions === true ? {} : { query_timeout: options.silenceMs ?? silenceMs }),
    types: parsers,
    verify: (client, done) => requirePrimary(client, (error) => done(error ?? undefined)),
  });
  // The pool listens to a client only while it is idle, and then emits the client's error itself. An error
  // without a listener would end the process, so both have one, and one of them reports.
  pool.on('error', () => undefined);
  pool.on('connect', (client) => client.on('error', options.onError));
  return pool;
}

/**
 * While a standby takes over, a proxy may still lead to one that only reads. Such a connection fails like one
 * that could not be opened: the caller tries again.
 */
const requirePrimary = callbackify(async (client: pg.PoolClient) => {
  if (await isStandby(client)) throw new StandbyError();
});

async function isStandby(client: pg.ClientBase): Promise<boolean> {
  const { rows } = await client.query<{ standby: boolean }>(
    'select pg_is_in_recovery() as standby',
  );
  return rows[0]?.standby === true;
}

/** Transient (`isTransient`). */
class StandbyError extends Error {
  override readonly name = 'StandbyError';
  readonly code = 'ESTANDBY';

  constructor() {
    super('The connection leads to a standby');
  }
}

/**
 * Checks the application's own connection: throws when it is not a session on a primary, and returns a
 * warning for each missing wall.
 */
export async function checkAppConnection(connectionString: string): Promise<string[]> {
  const client = new pg.Client({
    connectionString,
    application_name: 'sevenfold check',
    connectionTimeoutMillis: connectTimeoutMs,
  });
  client.on('error', () => undefined);
  await client.connect();
  try {
    if (await isStandby(client))
      throw new Error('DATABASE_URL names a replica; it must be the primary');
    if (!(await hearsItself(client)))
      throw new Error(
        'DATABASE_URL goes through a pooler in transaction mode; it must be a session connection',
      );
    return await missingWalls(client);
  } finally {
    await client.end();
  }
}

/** Behind a pooler in transaction mode a notice never arrives. */
async function hearsItself(client: pg.Client): Promise<boolean> {
  const channel = `sevenfold_check_${process.pid}`;
  const heard = new Promise<boolean>((resolve) => {
    client.on('notification', (notice) => notice.channel === channel && resolve(true));
    setTimeout(() => resolve(false), 2000).unref();
  });
  await client.query(`listen ${channel}`);
  await client.query('select pg_notify($1, $2)', [channel, '']);
  return heard;
}

async function missingWalls(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ role: string; can_write: boolean }>(
    `select current_user as role,
            coalesce(bool_or(has_table_privilege(oid, 'insert, update, delete, truncate')), false)
              as can_write
       from pg_class where oid in (to_regclass('emt_messages'), to_regclass('emt_streams'))`,
  );
  const { role, can_write: canWrite } = rows[0]!;
  return canWrite
    ? [
        `The database role ${role} may change events directly; give the app a role of its own in ` +
          'DATABASE_URL and the owner in MIGRATE_DATABASE_URL',
      ]
    : [];
}

/** Joins the URL's `options` to ours: the driver would let the URL's win. */
function target(
  connectionString: string,
  { longTransactions = false, statementMs }: Pick<PoolOptions, 'longTransactions' | 'statementMs'>,
): { connectionString: string; options: string } {
  const url = new URL(connectionString);
  const theirs = url.searchParams.get('options');
  url.searchParams.delete('options');
  const ours = [
    '-c plan_cache_mode=force_generic_plan',
    `-c idle_in_transaction_session_timeout=${transactionLimits.idleMs}`,
    ...(longTransactions ? [] : [`-c transaction_timeout=${transactionLimits.wholeMs}`]),
    ...(statementMs === undefined ? [] : [`-c statement_timeout=${statementMs}`]),
  ].join(' ');
  return {
    connectionString: url.href,
    options: theirs === null ? ours : `${ours} ${theirs}`,
  };
}

const pinned = new Map<number, (text: string) => unknown>([
  [pg.types.builtins.INT8, String],
  [pg.types.builtins.JSON, JSON.parse],
  [pg.types.builtins.JSONB, JSON.parse],
]);

const parsers: pg.CustomTypesConfig = {
  getTypeParser(oid: Parameters<typeof pg.types.getTypeParser>[0], format?: 'text' | 'binary') {
    const own = format === 'binary' ? undefined : pinned.get(oid);
    const general = pg.types.getTypeParser(oid, format) as (text: string) => unknown;
    return own ?? general;
  },
};
