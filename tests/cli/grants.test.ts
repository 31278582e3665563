import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { verifyAnchors } from '#db/anchors.ts';
import { UsageError } from '#services/cli/command.ts';
import { anchorCommands } from '#services/cli/credits/anchors.ts';
import { grantCommands } from '#services/cli/credits/grants.ts';
import { creditCommands } from '#services/cli/credits.ts';
import { newId } from '#services/platform/ids.ts';
import { runHere } from '#tests/cli/in-process.ts';
import { createTestApp } from '#tests/support/app.ts';
import type { Person, TestApp } from '#tests/support/app.ts';
import { allSafe } from '#tests/support/database.ts';

let app: TestApp;
let ann: Person;
let now = Date.UTC(2026, 10, 19, 12);

beforeAll(async () => {
  app = await createTestApp({ clock: () => now });
  ann = await app.signUp();
});
afterAll(async () => app.close());

beforeEach(() => {
  vi.stubEnv('SUDO_USER', 'olga');
});
afterEach(() => {
  vi.unstubAllEnvs();
});

const commands = [...creditCommands, ...grantCommands, ...anchorCommands];
const cli = async (...args: string[]) => runHere(app, commands, args);

type Listed = {
  grants: Record<string, unknown>[];
  operators: { operator: string; grants: number; credits: number }[];
};

async function listed(...args: string[]): Promise<Listed> {
  return JSON.parse((await cli('credits', 'grants', '--json', ...args)).out) as Listed;
}

async function opened(): Promise<number> {
  const { rowCount } = await app.core.pool.query(
    `select from audit_log where actor = 'operator:olga' and action = 'events.open' and subject = $1`,
    [`credits-${ann.userId}`],
  );
  return rowCount ?? 0;
}

test('grants are listed with their operators; the reasons are shown only with --open, which is recorded', async () => {
  await cli('credits', 'grant', ann.email, '30', '--reason', '=A "sorry", for the outage');
  vi.stubEnv('SUDO_USER', 'peter');
  now = Date.UTC(2026, 10, 20, 0, 0, 0);
  await cli('credits', 'grant', ann.email, '12', '--reason', 'Contest', '--type', 'bonus');
  vi.stubEnv('SUDO_USER', 'olga');
  const all = await listed();
  expect(all.grants).toMatchObject([
    {
      at: '2026-11-19T12:00:00.000Z',
      operator: 'olga',
      user_id: ann.userId,
      credits: 30,
      type: 'other',
      reason: '[sealed]',
    },
    { operator: 'peter', credits: 12, type: 'bonus', reason: '[sealed]' },
  ]);
  expect(all.operators).toEqual([
    { operator: 'olga', grants: 1, credits: 30 },
    { operator: 'peter', grants: 1, credits: 12 },
  ]);
  expect((await listed('--since', '2026-11-20')).grants).toMatchObject([{ credits: 12 }]);
  expect((await listed('--since', '2026-11-21')).grants).toEqual([]);
  expect(await opened()).toBe(0);
  expect((await listed('--open')).grants).toMatchObject([
    { reason: '=A "sorry", for the outage' },
    { reason: 'Contest' },
  ]);
  expect(await opened()).toBe(1);
  expect((await cli('credits', 'grants')).out).toContain('peter: 12 credits in 1 grant\n');
});

test('a reason in CSV is never a formula', async () => {
  const { out } = await cli('credits', 'grants', '--csv', '--open');
  expect(out.split('\n')[0]).toBe('at,operator,user_id,credits,type,lot_id,reason');
  expect(out).toContain(`,"'=A ""sorry"", for the outage"\n`);
});

test('an impossible day is refused, and a reason whose key is gone reads [erased]', async () => {
  await expect(cli('credits', 'grants', '--since', '2026-02-30')).rejects.toThrow(UsageError);
  await expect(cli('credits', 'grants', '--since', 'yesterday')).rejects.toThrow(UsageError);
  await app.core.sealer.erasePerson(ann.userId);
  expect((await listed('--open')).grants).toMatchObject([
    { reason: '[erased]' },
    { reason: '[erased]' },
  ]);
});

test('verify reports a refund that is unfinished after a month', async () => {
  const { userId, email } = await app.signUp();
  const { ledger } = app.core;
  const at = new Date(now).toISOString();
  const { lotId } = await ledger.grantPurchase({
    userId,
    purchaseId: 'pur_1',
    paymentKey: 'pi:pi_1',
    packageId: 'boost-20',
    credits: 20,
    paidMinor: 1_000,
    currency: 'usd',
    paidAt: at,
    actor: 'test',
  });
  const refundId = newId('ref', now);
  await ledger.requestRefund({
    userId,
    lotId,
    refundId,
    requestedAt: at,
    reason: 'customer',
    actor: 'test',
  });
  now += 30 * 86_400_000;
  expect((await cli('credits', 'verify', email)).code).toBe(0);
  now += 1;
  const { code, out } = await cli('credits', 'verify', email);
  expect([code, out]).toEqual([1, expect.stringContaining(`refund ${refundId} is pending since`)]);
  const ended = { userId, refundId, providerRefundId: 're_1', at, actor: 'test' };
  await ledger.endRefund({ ...ended, outcome: 'confirmed' });
  expect((await cli('credits', 'verify', email)).code).toBe(0);
});

test('an anchor prints its root, and verify names the link that does not reach it', async () => {
  await allSafe(app.core.pool);
  const { code, out } = await cli('credits', 'anchor');
  const { last } = await verifyAnchors(app.core.pool);
  expect([code, out]).toEqual([0, expect.stringContaining(`the root ${last?.root}\n`)]);
  expect((await cli('credits', 'anchors')).out).toContain(`${last?.root}\n`);
  const whole = await cli('credits', 'verify', '--json');
  expect([whole.code, JSON.parse(whole.out)]).toMatchObject([
    0,
    { verified: true, anchors: { anchors: 1, last: { root: last?.root }, broken: [] } },
  ]);

  const root = last?.root ?? '';
  expect((await cli('credits', 'verify', '--root', root.toUpperCase())).code).toBe(0);
  const other = `${root.startsWith('0') ? '1' : '0'}${root.slice(1)}`;
  for (const args of [[], [ann.email]])
    expect(await cli('credits', 'verify', ...args, '--root', other)).toMatchObject({
      code: 1,
      out: expect.stringContaining('no anchor has the given root') as string,
    });
  for (const odd of ['', root.slice(1), `${root}0`, 'canary'])
    await expect(cli('credits', 'verify', '--root', odd)).rejects.toThrow(UsageError);

  const stream = `credits-${ann.userId}`;
  const { rows } = await app.database.ownerPool.query<{ hash: string }>(
    `update chain_anchor_head set hash = repeat('0', 64) where stream_id = $1
     returning (select message_metadata ->> 'hash' from emt_messages
       where stream_id = $1 order by stream_position desc limit 1) as hash`,
    [stream],
  );
  const broken = await cli('credits', 'verify');
  expect(broken.code).toBe(1);
  expect(broken.out).toContain(
    `${stream} at version 2: anchor 1 has ${'0'.repeat(64)}, there is ${rows[0]?.hash}`,
  );
  expect((await cli('credits', 'verify', ann.email, '--json')).out).toContain(
    `"stream": "${stream}"`,
  );
});
