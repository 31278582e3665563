import { renewEpoch } from '#db/backup/epoch.ts';
import { inTransaction } from '#db/transaction.ts';
import { revokeEveryApiKey } from '#services/identity/api-keys/api-keys.ts';
import { addErasures, applyErasures, readErasures } from '#services/identity/erasure/erasure.ts';
import { voidEveryLink } from '#services/identity/links/links.ts';
import { revokeEveryServiceToken } from '#services/identity/service-tokens.ts';
import { endEverySession } from '#services/identity/sessions/sessions.ts';
import { revokeEveryShare } from '#services/optimizations/sharing/rows.ts';
import { notLogged, readErasureLog } from '#services/platform/process/erasure-log.ts';
import type { ErasureList } from '#services/platform/process/erasure-log.ts';
import type { Env } from '#services/platform/process/env.ts';
import { operatorName, printResult, text, UsageError } from '#services/cli/command.ts';
import type { Arguments, CliCommand } from '#services/cli/command.ts';
import type { Database } from '#services/cli/database.ts';

/** Refused for a reason that the operator can remove. */
export class RestoreRefused extends Error {
  override readonly name = 'RestoreRefused';
}

export const afterRestoreOptions = {
  erasures: { type: 'string', help: 'The erasure log (default ERASURE_LOG)' },
  'no-erasures': {
    type: 'boolean',
    help: 'The erasure log is lost. People erased since the backup come back; recorded in the audit log',
  },
  'keep-access': {
    type: 'boolean',
    help: 'Nothing was revoked since the backup: sessions, share links, API keys and service tokens stay valid',
  },
} as const;

/** What a restore needs beside the database. Read before anything is changed. */
export type AfterRestore = { erasures: ErasureList | null; keepsAccess: boolean };

/** @throws RestoreRefused when there is no erasure log */
export async function readAfterRestore(call: Arguments, env: Env): Promise<AfterRestore> {
  const keepsAccess = call.options['keep-access'] === true;
  const named = text(call, 'erasures');
  if (call.options['no-erasures'] === true) {
    if (named !== undefined) throw new UsageError('Give either --erasures or --no-erasures');
    return { erasures: null, keepsAccess };
  }
  const path = named ?? env.erasureLog;
  try {
    return { erasures: await readErasureLog(path), keepsAccess };
  } catch (error) {
    throw new RestoreRefused(
      `${named === undefined ? 'ERASURE_LOG' : '--erasures'}: ${path} is no list of erasures that can be read. Without it, people erased since the backup would come back`,
      { cause: error },
    );
  }
}

export type Restored = {
  /** Null: restored without the list. */
  erasures: { listed: number; added: number; people: number } | null;
  /** Null: they were kept. */
  revoked: {
    sessions: number;
    links: number;
    share_links: number;
    api_keys: number;
    service_tokens: number;
  } | null;
};

/**
 * What a restored database needs before the app uses it, however it was restored. A backup holds what was
 * erased, ended or revoked after it was made. Repeating this is harmless.
 *
 * @throws RestoreRefused when the erasure log lacks erasures that the backup has: it is another database's
 */
export async function afterRestore(
  database: Database,
  { erasures, keepsAccess }: AfterRestore,
): Promise<Restored> {
  const { pool, ownerPool, audit, clock } = database;
  const erased = erasures === null ? null : await eraseAgain(database, erasures);
  const revoked = await inTransaction(ownerPool, async (client) => {
    const now = new Date(clock());
    await renewEpoch(client);
    const counts = keepsAccess
      ? null
      : {
          sessions: await endEverySession(client, 'restored', now),
          links: await voidEveryLink(client, now),
          share_links: await revokeEveryShare(client, now),
          api_keys: await revokeEveryApiKey(client, now),
          service_tokens: await revokeEveryServiceToken(client, now),
        };
    await audit(
      {
        actor: operatorName(),
        action: 'database.restored',
        subject: 'all',
        detail: {
          ...(erased === null ? { erasures: 'not applied' } : { erased_again: erased.people }),
          ...(counts ?? { access: 'kept' }),
        },
      },
      client,
    );
    return counts;
  });
  // Of processes that ran when the backup was made.
  await pool.query('delete from process_heartbeat');
  return { erasures: erased, revoked };
}

async function eraseAgain({ pool }: Database, list: ErasureList) {
  const missing = notLogged(await readErasures(pool), list);
  if (missing.length > 0)
    throw new RestoreRefused(
      `The erasure log lacks ${missing.length} erasures that the backup has: it is incomplete or another database's`,
    );
  const added = await addErasures(pool, list);
  const people = await applyErasures(pool);
  return { listed: list.length, added, people: people.length };
}

export function linesOf({ erasures, revoked }: Restored): string[] {
  return [
    erasures === null
      ? 'No erasure was repeated: people erased since the backup are back.'
      : `${erasures.listed} erasures listed, ${erasures.added} since the backup; ${erasures.people} people erased again.`,
    revoked === null
      ? 'Sessions, share links, API keys and service tokens stay valid.'
      : `Ended ${revoked.sessions} sessions. Revoked ${revoked.share_links} share links, ${revoked.api_keys} API keys, ${revoked.service_tokens} service tokens and ${revoked.links} links in emails.`,
    'Clients will take a snapshot.',
  ];
}

export const afterRestoreCommand: CliCommand = {
  noun: 'backup',
  verb: 'after-restore',
  arguments: '',
  summary: 'Repeats erasures and ends sessions after a restore by other means, such as pgBackRest.',
  options: afterRestoreOptions,
  async run(call) {
    const { database } = call;
    const wanted = await readAfterRestore(call, database.env);
    await requireStopped(database);
    const { keys, closed } = await database.sealer.checkKeys();
    if (closed > 0) throw new RestoreRefused(closedLine(closed, keys));
    const restored = await afterRestore(database, wanted);
    printResult(call, restored, linesOf(restored));
    return 0;
  },
};

export function closedLine(closed: number, keys: number): string {
  return `DATA_KEY does not open ${closed} of ${keys} keys of this database; add the key of its time`;
}

/** Processes hold streams, keys and places in the log in memory. */
async function requireStopped({ pool }: Database): Promise<void> {
  const { rows } = await pool.query(
    `select from pg_stat_activity
     where datname = current_database() and application_name ~ '^sevenfold (api|worker)'`,
  );
  if (rows.length > 0)
    throw new RestoreRefused('The app is running on this database. Stop it and try again.');
}
