import { counted } from '#services/cli/command.ts';
import { appendFunction } from '#db/append-function.ts';
import { checkAppConnection } from '#db/connect.ts';
import { definitionOf, readMigrationState } from '#db/migrate.ts';
import { projectionStatus } from '#projections/engine/checkpoint.ts';
import { projections } from '#projections/index.ts';
import { elseOk, ok, warning, wrong } from './finding.ts';
import type { Check, Finding } from './finding.ts';

/** What this version was built and tested on. */
const leastVersion = 180_000;
/** Behind by so much, an asynchronous read model shows old figures. */
const lagSeconds = 60;
/** An open transaction hides later events from every reader. */
const openSeconds = 60;

const server: Check = {
  name: 'database',
  async runOnDatabase({ database: { pool, urls } }) {
    const { rows } = await pool.query<{ version: string; number: number; bytes: string }>(
      `select current_setting('server_version') as version,
         current_setting('server_version_num')::integer as number,
         pg_database_size(current_database())::text as bytes`,
    );
    const { version, number, bytes } = rows[0]!;
    const megabytes = Math.ceil(Number(bytes) / 1_000_000);
    const found: Finding[] =
      number < leastVersion
        ? [wrong(`Postgres ${version} is too old`, 'upgrade the server to Postgres 18')]
        : [ok(`Postgres ${version} at ${new URL(urls.appUrl).host}, ${megabytes} MB`)];
    try {
      const missing = await checkAppConnection(urls.appUrl);
      return [
        ...found,
        ok('a session of its own on a primary'),
        ...missing.map((what) => warning(what, 'db/roles.sh creates both roles')),
      ];
    } catch (error) {
      const what = error instanceof Error ? error.message : String(error);
      return [...found, wrong(what, 'change DATABASE_URL')];
    }
  },
};

const migrations: Check = {
  name: 'migrations',
  async runOnDatabase({ database: { pool } }) {
    const { pending, unknown, edited } = await readMigrationState(pool);
    const name = appendFunction(projections).name;
    const { rows } = await pool.query<{ may: boolean }>(
      `select has_function_privilege(oid, 'execute') as may from pg_proc where proname = $1`,
      [name],
    );
    const migrate = 'run: node services/migrate.ts';
    return elseOk(
      [
        ...(pending.length > 0 ? [wrong(`not applied: ${pending.join(', ')}`, migrate)] : []),
        ...edited.map((file) => wrong(`${file} was edited after it was applied`, 'restore it')),
        ...(unknown.length > 0
          ? [warning(`of a newer version: ${unknown.join(', ')}`, 'update this server')]
          : []),
        ...(rows.length === 0 ? [wrong(`the append function ${name} is missing`, migrate)] : []),
        ...(rows.some(({ may }) => !may)
          ? [wrong(`the app may not execute the append function ${name}`, migrate)]
          : []),
      ],
      'all applied, and the append function is there',
    );
  },
};

const readModels: Check = {
  name: 'read models',
  async runOnDatabase({ database: { pool } }) {
    const { rows } = await pool.query<{ name: string; definition: string }>(
      'select name, definition from read_model where to_regclass(name) is not null',
    );
    const stored = new Map(rows.map(({ name, definition }) => [name, definition]));
    const incomplete = projections.filter((one) => stored.get(one.name) !== definitionOf(one));
    const complete = projections.filter((one) => !incomplete.includes(one));
    const statuses = await projectionStatus(pool, complete);
    return elseOk(
      [
        ...incomplete.map(({ name }) =>
          wrong(`${name} is not complete`, `run: projections rebuild ${name}`),
        ),
        ...statuses.flatMap(({ name, pending, lagSeconds: lag, setAside }) => [
          ...(lag > lagSeconds
            ? [
                warning(
                  `${name} is ${Math.round(lag)} s and ${counted(pending, 'event')} behind`,
                  'start a worker, or look for an old transaction below',
                ),
              ]
            : []),
          ...setAside.streams.map(({ streamId, event, sqlstate }) =>
            wrong(
              `${name} has set aside ${streamId} since ${event.type} at ${event.position} (${sqlstate})`,
              'after the fix run: projections retry --all',
            ),
          ),
        ]),
      ],
      `${projections.length} are complete and up to date`,
    );
  },
};

/** The owner sees the sessions of every role. */
const snapshots: Check = {
  name: 'oldest transaction',
  async runOnDatabase({ database: { ownerPool } }) {
    const { rows } = await ownerPool.query<{ pid: number; name: string; seconds: number }>(
      `select pid, application_name as name,
         extract(epoch from clock_timestamp() - xact_start)::float8 as seconds
       from pg_stat_activity
       where backend_xid is not null and xact_start is not null and pid <> pg_backend_pid()
       order by xact_start limit 1`,
    );
    const { rows: prepared } = await ownerPool.query<{ gid: string }>(
      'select gid from pg_prepared_xacts',
    );
    return elseOk(
      [
        ...rows.flatMap(({ pid, name, seconds }) =>
          seconds < openSeconds
            ? []
            : [
                warning(
                  `process ${pid} (${name}) has been writing for ${Math.round(seconds)} s and hides later events from readers`,
                  `if it hangs: select pg_terminate_backend(${pid})`,
                ),
              ],
        ),
        ...prepared.map(({ gid }) =>
          wrong(`a prepared transaction hides later events`, `rollback prepared '${gid}'`),
        ),
      ],
      'none is old enough to hold back a reader',
    );
  },
};

export const databaseChecks: readonly Check[] = [server, migrations, readModels, snapshots];
