import { afterAll, beforeAll, expect, test } from 'vitest';
import { SettingsError } from '#services/platform/process/env.ts';
import { createLog } from '#services/platform/process/log.ts';
import { prepareDatabase, type DatabaseUrls } from '#services/migrate.ts';
import { createTestDatabase, type TestDatabase } from '#tests/support/database.ts';
import { roleOf } from '#tests/support/postgres.ts';

const log = createLog({ level: 'silent', process: 'test' });
let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase();
});

afterAll(async () => {
  await database.drop();
});

const urls = (more: Partial<DatabaseUrls> = {}): DatabaseUrls => ({
  ...database,
  auditorRole: roleOf(database.auditorUrl),
  ...more,
});

async function linesOf(work: Promise<unknown>): Promise<readonly string[]> {
  return work.then(
    () => [],
    (error: unknown) => {
      if (error instanceof SettingsError) return error.lines;
      throw error;
    },
  );
}

test('a database belongs to the first mode and refuses the other', async () => {
  await prepareDatabase(urls(), 'local', log);
  await prepareDatabase(urls(), 'local', log);
  expect(await linesOf(prepareDatabase(urls(), 'production', log))).toEqual([
    'MODE is production, but this database was created in local mode. Use a different database.',
  ]);
});

test('the error for a wrong password names the variable and repeats no value', async () => {
  const ownerUrl = new URL(database.ownerUrl);
  ownerUrl.password = 'canary';
  const [line, ...more] = await linesOf(
    prepareDatabase(urls({ ownerUrl: ownerUrl.href }), 'local', log),
  );
  expect(line).toMatch(/^MIGRATE_DATABASE_URL: no connection to \S+ \(.*password/);
  expect(line).not.toContain('canary');
  expect(more).toEqual([]);
});

test('the error for a missing database names the variable', async () => {
  const missing = new URL(database.ownerUrl);
  missing.pathname = '/nowhere';
  const both = urls({ ownerUrl: missing.href, appUrl: missing.href });
  expect(await linesOf(prepareDatabase(both, 'local', log))).toEqual([
    expect.stringMatching(/^DATABASE_URL: no connection to .* \(.*"nowhere" does not exist\)$/),
  ]);
});

test('one role for everything is accepted, with a warning that names the missing wall', async () => {
  const written: string[] = [];
  const hearing = createLog({
    level: 'warn',
    process: 'test',
    destination: { write: (line) => void written.push(line) },
  });
  await prepareDatabase(urls({ appUrl: database.ownerUrl }), 'local', hearing);
  expect(written.join('')).toContain('may change events directly');
});

test('an auditor that does not exist, or is another role of the app, is refused', async () => {
  const refusal = async (auditorRole: string) =>
    prepareDatabase(urls({ auditorRole }), 'local', log).catch((error: unknown) => String(error));
  expect(await refusal('nobody_here')).toMatch(/AUDITOR_ROLE: this role does not exist/);
  for (const url of [database.appUrl, database.ownerUrl])
    expect(await refusal(roleOf(url))).toMatch(/AUDITOR_ROLE must not be the role of/);
});
