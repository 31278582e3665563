import { randomBytes } from 'node:crypto';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readEpoch } from '#db/backup/epoch.ts';
import { readBalance } from '#projections/credit-account.ts';
import { backupCommands } from '#services/cli/backup.ts';
import { UsageError } from '#services/cli/command.ts';
import type { SettingsCommand } from '#services/cli/command.ts';
import { openDatabase } from '#services/cli/database.ts';
import type { Database } from '#services/cli/database.ts';
import { erasureOf } from '#services/core.ts';
import { creditStream } from '#services/credits/account/events.ts';
import { createApiKey, listApiKeys } from '#services/identity/api-keys/api-keys.ts';
import { askForErasure, eraseAccount } from '#services/identity/erasure/erasure.ts';
import { newId, uuidV5 } from '#services/platform/ids.ts';
import { readEnv } from '#services/platform/process/env.ts';
import { createLog } from '#services/platform/process/log.ts';
import { temporaryFolder } from '#tests/support/processes/processes.ts';
import { runOnSettings } from './in-process.ts';

/**
 * One data folder and one backup of it: what is done after the backup, and what is left of that after the
 * restore. `npm run proof` does the same under load (`tests/proof/restore.test.ts`).
 */
const folder = temporaryFolder();
const dataDir = join(folder.path, 'data');
const source = {
  DATA_DIR: dataDir,
  DATA_KEY: randomBytes(32).toString('base64'),
  JWT_KEYS: randomBytes(32).toString('base64'),
};
const erasureLog = join(dataDir, 'erasures.ndjson');
const settingsCommands = backupCommands.filter(
  (command): command is SettingsCommand => 'runOnSettings' in command,
);
const backup = async (...words: string[]) =>
  runOnSettings(settingsCommands, ['backup', ...words], source);

const note = 'For the marmalade observatory';
let name: string;
let epoch: string;
/** Erased after the backup. */
const ann = newId('usr', Date.now());
const bob = newId('usr', Date.now());

async function withDatabase<Result>(work: (database: Database) => Promise<Result>) {
  const log = createLog({ level: 'silent', process: 'test' });
  await using resources = new AsyncDisposableStack();
  return await work(await openDatabase(readEnv(source), log, resources));
}

async function give({ sealer, ledger }: Database, userId: string, credits: number) {
  await sealer.createDataKey('account', userId, userId);
  const stream = creditStream(userId);
  await ledger.give({
    userId,
    credits,
    source: 'other',
    reason: 'operator',
    actor: 'operator:test',
    commandId: uuidV5(userId, String(credits)),
    note: await sealer.seal(userId, { stream, field: 'note' }, note),
  });
}

async function signUp({ pool }: Database, userId: string) {
  const now = new Date();
  await pool.query(
    `insert into users (id, email, name, email_confirmed_at) values ($1, $2, 'A Person', now())`,
    [userId, `${userId}@example.com`],
  );
  await pool.query(
    `insert into sessions (id, user_id, expires_at, ends_at, idle_seconds)
     values ($1, $2, now() + interval '1 day', now() + interval '1 day', 86400)`,
    [newId('ses', now.getTime()), userId],
  );
  await pool.query(
    `insert into share_link (id, user_id, run_id, token_hash, sealed_token, shows_context,
       created_at, expires_at)
     values ($1, $2, 'opt_1', $3, 'sealed', false, now(), now() + interval '1 day')`,
    [newId('shr', now.getTime()), userId, randomBytes(32)],
  );
  await createApiKey(pool, userId, { name: 'report', scopes: ['read'], monthlyCap: 10 }, now);
}

/** Of commands that were killed long ago, and one of a command that may still run. */
const left = [
  'backups/2020-01-01T00-00-00.000Z',
  'backups/2020-01-01T00-00-01.000Z.partial',
  '.verify-old',
  '.restore-old',
];
const fresh = '.verify-new';

beforeAll(async () => {
  await withDatabase(async (database) => {
    for (const userId of [ann, bob]) {
      await signUp(database, userId);
      await give(database, userId, 50);
    }
    epoch = await readEpoch(database.pool);
    for (const old of left) {
      mkdirSync(join(dataDir, old), { recursive: true });
      utimesSync(join(dataDir, old), 0, 0);
    }
    mkdirSync(join(dataDir, fresh));
    const made = await backup('create', '--json');
    ({ name } = JSON.parse(made.out) as { name: string });
    await give(database, bob, 30);
    const erasure = erasureOf(database);
    await askForErasure(erasure, { userId: ann, actor: ann });
    await database.pool.query(`update mail set status = 'sent'`);
    expect(await eraseAccount(erasure, ann)).toBe('erased');
    await expect(backup('restore', name, '--yes')).rejects.toThrow(/is in use; stop the app/);
  });
}, 120_000);
afterAll(() => folder.remove());

test('an erasure is in the erasure log, by ids and times alone', () => {
  const lines = readFileSync(erasureLog, 'utf8').trim().split('\n');
  for (const line of lines)
    expect(JSON.parse(line)).toEqual({
      key_id: ann,
      kind: 'account',
      user_id: ann,
      erased_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
    });
});

test('a new backup deletes what commands left that were killed long ago, and nothing else', () => {
  expect(left.filter((old) => existsSync(join(dataDir, old)))).toEqual([]);
  expect(existsSync(join(dataDir, fresh))).toBe(true);
  rmSync(join(dataDir, fresh), { recursive: true });
});

test('a manifest whose paths lead out of the backup is none', async () => {
  const path = join(dataDir, 'backups', name, 'manifest.json');
  const manifest = readFileSync(path, 'utf8');
  for (const outside of ['../planted', '/tmp/planted', 'base/../../planted']) {
    writeFileSync(path, manifest.replace('"path":"backup_label"', `"path":"${outside}"`));
    await expect(backup('verify', name)).rejects.toThrow(/has an unreadable manifest/);
  }
  writeFileSync(path, manifest);
});

test('a list of backups names complete ones, and says which folders to delete', async () => {
  const partial = join(dataDir, 'backups', `${name}.partial`);
  renameSync(join(dataDir, 'backups', name), partial);
  expect(await backup('list')).toMatchObject({
    out: 'There is no backup.\n',
    said: `${partial} is not a complete backup; delete it\n`,
  });
  renameSync(partial, join(dataDir, 'backups', name));
  expect((await backup('list')).out).toContain(name);
});

test('a folder that is missing or is a file is refused by name', async () => {
  const missing = join(folder.path, 'missing');
  const message = (argument: string, path: string) =>
    new UsageError(`${argument} must be a folder that exists: ${path}`);
  await expect(backup('create', '--out', missing)).rejects.toThrow(message('--out', missing));
  await expect(backup('create', '--out', erasureLog)).rejects.toThrow(message('--out', erasureLog));
  await expect(backup('list', missing)).rejects.toThrow(message('<folder>', missing));
  await expect(backup('verify', 'nope')).rejects.toThrow(
    /There is no folder .*nope\. `backup list`/,
  );
  expect(existsSync(missing)).toBe(false);
});

test('a damaged backup is neither verified nor restored, and the database stays as it was', async () => {
  const control = join(dataDir, 'backups', name, 'postgres/base/1/PG_VERSION');
  const whole = readFileSync(control);
  writeFileSync(control, '17\n');
  const fault = /is damaged: base\/1\/PG_VERSION differs from the manifest/;
  await expect(backup('verify', name)).rejects.toThrow(fault);
  await expect(backup('restore', name, '--yes')).rejects.toThrow(fault);
  writeFileSync(control, whole);
  expect(readdirSync(dataDir).filter((entry) => /^(\.|postgres-)/.test(entry))).toEqual([]);
});

test('a restore needs the whole erasure log of this database', async () => {
  const aside = `${erasureLog}.aside`;
  renameSync(erasureLog, aside);
  await expect(backup('restore', name, '--yes')).rejects.toThrow(
    /^ERASURE_LOG: .* would come back$/,
  );
  renameSync(aside, erasureLog);
});

test('a restore brings back the credits and erases again who was erased since', async () => {
  // What a crash leaves of an erasure that was not confirmed.
  appendFileSync(erasureLog, '{"key_id":"usr_');
  const { code, out } = await backup('restore', name, '--yes');
  expect([code, out]).toEqual([0, expect.stringMatching(/\nStart the app\.\n$/)]);
  expect(readdirSync(dataDir).filter((entry) => entry.startsWith('postgres-'))).toHaveLength(1);
  await withDatabase(async (database) => {
    const { pool, sealer } = database;
    expect(await readBalance(pool, bob)).toMatchObject({ available_credits: 50 });
    expect((await pool.query('select id from users')).rows).toEqual([{ id: bob }]);
    const { rows } = await pool.query<{ stream_id: string; note: string }>(
      `select stream_id, message_data -> 'sealed' ->> 'note' as note from emt_messages
       where message_type = 'CreditsGranted' order by stream_id = $1`,
      [creditStream(bob)],
    );
    const opened = rows.map(({ stream_id: stream, note: sealed }) =>
      sealer.open(sealed, { stream, field: 'note' }),
    );
    expect(await Promise.all(opened)).toEqual([{ erased: true }, { text: note }]);
    expect(await readEpoch(pool)).not.toBe(epoch);
  });
});

test('after a restore no session, share link or API key works, and the audit log says so', async () => {
  await withDatabase(async ({ pool }) => {
    const live = await pool.query(
      `select 'session' from sessions where revoked_at is null
       union all select 'share link' from share_link where revoked_at is null`,
    );
    expect(live.rows).toEqual([]);
    expect(await listApiKeys(pool, bob)).toEqual([]);
    const { rows } = await pool.query(
      `select subject, detail from audit_log where action = 'database.restored'`,
    );
    expect(rows).toEqual([
      {
        subject: 'all',
        detail: {
          erased_again: 1,
          sessions: 1,
          links: 0,
          share_links: 1,
          api_keys: 1,
          service_tokens: 0,
        },
      },
    ]);
  });
});

test(
  'a verification starts the backup and checks keys, events, credits and read models',
  { tags: ['long'] },
  async () => {
    const { code, out } = await backup('verify', name);
    expect({ code, faults: out.split('\n').filter((line) => line.startsWith('NOT')) }).toEqual({
      code: 0,
      faults: [],
    });
    expect(out).toContain('2 keys, all opened by DATA_KEY');
    expect(readdirSync(dataDir).filter((entry) => entry.startsWith('.'))).toEqual([]);
  },
);
