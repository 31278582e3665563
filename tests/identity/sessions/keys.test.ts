import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { signingKeyId } from '#services/identity/sessions/tokens.ts';
import { localKeys, replaceLocalKeys } from '#services/platform/process/local-keys.ts';
import { createSealer, IntegrityError } from '#services/platform/seal.ts';
import { createTestDatabase } from '#tests/support/database.ts';
import type { TestDatabase } from '#tests/support/database.ts';
import { operate } from '#tests/support/processes/operator.ts';
import type { Outcome } from '#tests/support/processes/operator.ts';
import { commandLine } from '#tests/support/processes/processes.ts';

let database: TestDatabase;
let dataDir: string;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'sevenfold-keys-'));
});
afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

type Report = {
  kept: string;
  keys: string[];
  retired: string[];
  rewrapped: number;
};

const settings = () => ({
  SUDO_USER: 'olga',
  DATABASE_URL: database.appUrl,
  MIGRATE_DATABASE_URL: database.ownerUrl,
  DATA_DIR: dataDir,
});

const rotate = (
  args: readonly string[] = [],
  variables: Record<string, string> = {},
): Promise<Outcome> => operate({ ...settings(), ...variables }, 'keys', 'rotate', ...args);

/** As an operator types it: the command line makes one line of an error. */
const rotateAlone = (...args: string[]): Promise<Outcome> =>
  commandLine(settings(), 'keys', 'rotate', ...args);

async function rotated(
  args: readonly string[] = [],
  variables: Record<string, string> = {},
): Promise<Partial<Record<'data' | 'jwt', Report>>> {
  const { code, stdout, stderr } = await rotate([...args, '--json'], variables);
  expect([code, stderr]).toEqual([0, '']);
  return JSON.parse(stdout) as Partial<Record<'data' | 'jwt', Report>>;
}

const place = { stream: 'test', field: 'note' };

function sealerWith(...dataKeys: Buffer[]) {
  return createSealer({ dataKeys, pool: database.pool });
}

/** A text under a data key of its own, wrapped by this key. */
async function sealUnder(key: Buffer, owner: string): Promise<string> {
  const sealer = sealerWith(key);
  await sealer.createDataKey('account', owner, owner);
  return sealer.seal(owner, place, `said by ${owner}`);
}

async function openAll(texts: readonly string[], ...keys: readonly Buffer[]): Promise<unknown[]> {
  const sealer = sealerWith(...keys);
  return Promise.all(texts.map(async (text) => sealer.open(text, place)));
}

async function entries(): Promise<unknown[]> {
  const { rows } = await database.ownerPool.query<{ actor: string; detail: object }>(
    `select actor, detail from audit_log where action = 'keys.rotated' order by entry_id`,
  );
  return rows;
}

describe('keys rotate in local mode', () => {
  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(async () => database.drop());
  afterEach(async () => {
    await database.ownerPool.query('delete from data_key');
    await database.ownerPool.query('delete from process_heartbeat');
  });

  test('a rotation draws new keys, wraps every data key again, deletes the old key, and is recorded', async () => {
    const before = localKeys(dataDir);
    const [old] = before.data as [Buffer];
    const texts = await Promise.all(['usr_1', 'usr_2', 'opt_3'].map((id) => sealUnder(old, id)));
    const { data, jwt } = await rotated();
    const after = localKeys(dataDir);
    expect(after.data).toHaveLength(1);
    const [fresh] = after.data as [Buffer];
    expect(fresh.equals(old)).toBe(false);
    expect(await openAll(texts, fresh)).toEqual([
      { text: 'said by usr_1' },
      { text: 'said by usr_2' },
      { text: 'said by opt_3' },
    ]);
    await expect(openAll(texts, old)).rejects.toThrow(IntegrityError);
    expect(data).toMatchObject({ kept: 'file', rewrapped: 3 });
    expect([data?.keys.length, data?.retired.length]).toEqual([1, 1]);
    // Tokens that were signed a moment ago still verify.
    expect(after.jwt.slice(1)).toEqual(before.jwt);
    expect(jwt).toEqual({
      kept: 'file',
      keys: after.jwt.map(signingKeyId),
      retired: [],
      rewrapped: 0,
    });
    for (const name of ['data.key', 'jwt.key'])
      expect(statSync(join(dataDir, 'keys', name)).mode & 0o777).toBe(0o600);
    const written = await entries();
    expect(written).toEqual([
      {
        actor: 'operator:olga',
        detail: expect.objectContaining({ kind: 'data', rewrapped: 3 }) as object,
      },
      { actor: 'operator:olga', detail: expect.objectContaining({ kind: 'jwt' }) as object },
    ]);
    for (const line of readFileSync(join(dataDir, 'keys/jwt.key'), 'utf8').trim().split('\n'))
      expect(JSON.stringify(written)).not.toContain(line);
  });

  test('a rotation keeps two signing keys', async () => {
    const first = localKeys(dataDir).jwt[0];
    await rotated(['--jwt']);
    const second = localKeys(dataDir).jwt[0];
    const { data, jwt } = await rotated(['--jwt']);
    expect(data).toBeUndefined();
    const kept = localKeys(dataDir).jwt;
    expect(kept).toHaveLength(2);
    expect(kept[1]).toEqual(second);
    expect(jwt?.retired).toEqual([signingKeyId(first ?? Buffer.alloc(0))]);
  });

  test('a rotation continues where another one stopped, and changes no other keys', async () => {
    const [old, newer] = [localKeys(dataDir).data[0] ?? Buffer.alloc(0), randomBytes(32)];
    const texts = [await sealUnder(old, 'usr_1'), await sealUnder(newer, 'usr_2')];
    replaceLocalKeys(dataDir, 'data', [newer, old]);
    const { jwt: signing } = localKeys(dataDir);
    const { data, jwt } = await rotated(['--data']);
    expect(jwt).toBeUndefined();
    expect(localKeys(dataDir).jwt).toEqual(signing);
    expect(data).toMatchObject({ rewrapped: 2 });
    expect(data?.retired).toHaveLength(2);
    const [fresh] = localKeys(dataDir).data as [Buffer];
    expect(await openAll(texts, fresh)).toEqual([
      { text: 'said by usr_1' },
      { text: 'said by usr_2' },
    ]);
  });

  test('a rotation deletes no key that a row may still need', { tags: ['long'] }, async () => {
    const [old] = localKeys(dataDir).data as [Buffer];
    const text = await sealUnder(old, 'usr_1');
    await sealUnder(randomBytes(32), 'usr_2');
    const { code, stdout, stderr } = await rotateAlone('--data');
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toBe('No key in DATA_KEY opens the data key usr_2\n');
    const kept = localKeys(dataDir).data;
    expect(kept).toHaveLength(2);
    expect(kept[1]).toEqual(old);
    expect(await openAll([text], ...kept)).toEqual([{ text: 'said by usr_1' }]);
  });

  test('a rotation is refused in one line while the app runs, and changes nothing', async () => {
    const before = localKeys(dataDir);
    await database.pool.query(
      `insert into process_heartbeat (process_id, kind, host, pid) values ('one', 'worker', 'here', 1)`,
    );
    const { code, stdout, stderr } = await rotateAlone();
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toBe(
      'The app is running with the old keys, or just stopped. Stop it and try again in 30 seconds.\n',
    );
    expect(localKeys(dataDir)).toEqual(before);
    await database.pool.query(
      `update process_heartbeat set beat_at = now() - interval '31 seconds'`,
    );
    expect((await rotate()).code).toBe(0);
  });

  test('a rotation is refused while another one is under way', async () => {
    const client = await database.ownerPool.connect();
    try {
      await client.query(`select pg_advisory_lock(hashtext('sevenfold keys rotate'))`);
      const { code, stderr } = await rotate();
      expect(code).toBe(1);
      expect(stderr).toContain('Another rotation of the keys is in progress');
    } finally {
      client.release(true);
    }
  });
});

describe('keys rotate where the keys are variables', () => {
  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(async () => database.drop());

  const [dataOld, dataNew, jwtOld, jwtNew] = [0, 1, 2, 3].map(() => randomBytes(32)) as [
    Buffer,
    Buffer,
    Buffer,
    Buffer,
  ];
  const variables = (dataKeys: readonly Buffer[], jwtKeys: readonly Buffer[]) => ({
    MODE: 'production',
    PUBLIC_URL: 'https://sevenfold.example',
    MAIL_FROM: 'no-reply@sevenfold.example',
    CONTACT_EMAIL: 'help@sevenfold.example',
    ERASURE_LOG: '/none/erasures.ndjson',
    DATA_KEY: dataKeys.map((key) => key.toString('base64')).join(),
    JWT_KEYS: jwtKeys.map((key) => key.toString('base64')).join(),
  });

  test('a rotation wraps under the first key while the app runs, and says which keys may be removed', async () => {
    const text = await sealUnder(dataOld, 'usr_1');
    const given = variables([dataNew, dataOld], [jwtNew, jwtOld]);
    await database.pool.query(
      `insert into process_heartbeat (process_id, kind, host, pid) values ('one', 'worker', 'here', 1)`,
    );
    const { data, jwt } = await rotated([], given);
    expect(data).toMatchObject({ kept: 'variable', rewrapped: 1 });
    expect(data?.retired).toEqual(data?.keys.slice(1));
    expect(jwt).toEqual({
      kept: 'variable',
      keys: [signingKeyId(jwtNew), signingKeyId(jwtOld)],
      retired: [signingKeyId(jwtOld)],
      rewrapped: 0,
    });
    expect(await openAll([text], dataNew)).toEqual([{ text: 'said by usr_1' }]);
    const again = await rotate([], given);
    expect(again.stdout.trim().split('\n')).toEqual([
      `Data keys: 0 rewrapped. All now use ${data?.keys[0]}.`,
      `May be removed from DATA_KEY now: ${data?.keys[1]}.`,
      `Tokens: ${signingKeyId(jwtNew)} signs, ${signingKeyId(jwtOld)} still verify.`,
      `May be removed from JWT_KEYS a day after every process was started with the new one: ${signingKeyId(jwtOld)}.`,
    ]);
  });

  test('a rotation says how to begin when there is one key', async () => {
    const { code, stdout } = await rotate(['--jwt'], variables([dataNew], [jwtNew]));
    expect(code).toBe(0);
    expect(stdout).toContain('JWT_KEYS holds one key. To replace it, put a new one before it');
  });
});
