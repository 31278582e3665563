import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { issueServiceToken } from '#services/identity/service-tokens.ts';
import type { Balance } from '#services/credits/contract.ts';
import type { Replay } from '#services/credits/audit/replay.ts';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import type { Person } from '#tests/support/app.ts';
import { createTestDatabase } from '#tests/support/database.ts';
import type { TestDatabase } from '#tests/support/database.ts';
import { operateJson } from '#tests/support/processes/operator.ts';
import {
  createClient,
  eventually,
  startProcess,
  temporaryFolder,
} from '#tests/support/processes/processes.ts';
import type { Client, OwnProcess, Settings } from '#tests/support/processes/processes.ts';
import { expectEachOnce } from './support/check.ts';
import { follow } from './support/follow.ts';
import type { Follower } from './support/follow.ts';

/** Two API processes over one database, as behind a load balancer. */
let database: TestDatabase;
let folder: ReturnType<typeof temporaryFolder>;
let settings: Settings;
let apis: OwnProcess[];
let urls: string[];
let clients: Client[];

beforeAll(async () => {
  database = await createTestDatabase();
  folder = temporaryFolder();
  settings = {
    DATABASE_URL: database.appUrl,
    MIGRATE_DATABASE_URL: database.ownerUrl,
    DATA_DIR: folder.path,
    PUBLIC_URL: 'http://127.0.0.1:3000',
    SANDBOX_URL: 'http://127.0.0.1:1',
    PORT: '0',
  };
  // Both start at once on a folder without keys and must end up with the same keys.
  apis = await Promise.all([startProcess('api.ts', settings), startProcess('api.ts', settings)]);
  urls = apis.map((api) => String(api.details['address']));
  clients = urls.map((url) => createClient(url, settings));
}, 300_000);

afterAll(async () => {
  for (const api of apis) await api[Symbol.asyncDispose]();
  await database.drop();
  folder.remove();
});

function complaints(): unknown[] {
  return apis
    .flatMap((api) => api.log())
    .filter(({ level }) => level === 'error' || level === 'fatal');
}

describe('50 reserves of 14 at once on 140 credits', { timeout: 300_000 }, () => {
  test('two API processes accept 10 of 50 concurrent reserves, and refuse 40', async () => {
    const through = (index: number): Client => clients[index % 2]!;
    const { token, email } = await through(0).signUp({ credits: 140 });
    const runs = await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        through(index).data<Optimization>('/optimizations', {
          token,
          body: { challenge: `Rent or buy workshop ${index}?`, strategy: 'balanced' },
        }),
      ),
    );
    const statuses = await Promise.all(
      runs.map(async ({ id }, index) => {
        const path = `/optimizations/${id}/process`;
        const response = await through(index).call(path, { method: 'POST', token });
        await response.arrayBuffer();
        return response.status;
      }),
    );
    expect(statuses.filter((status) => status === 202)).toHaveLength(10);
    expect(statuses.filter((status) => status === 402)).toHaveLength(40);
    expect(complaints()).toEqual([]);

    const replay = await operateJson<Replay>(settings, 'credits', 'replay', email);
    expect(replay.verified).toBe(true);
    expect(replay.balance).toMatchObject({ available: 0, held: 140, debt: 0 });
    expect(replay.entries.map(({ type }) => type)).toEqual([
      'CreditsGranted',
      ...Array.from({ length: 10 }, () => 'CreditsReserved'),
    ]);
    const verified = await operateJson<{ verified: boolean }>(settings, 'credits', 'verify');
    expect(verified.verified).toBe(true);
  });

  test('one run that is started through both at once is reserved once', async () => {
    const person = await clients[0]!.signUp();
    const { token } = person;
    const { id } = await clients[0]!.data<Optimization>('/optimizations', {
      token,
      body: { challenge: 'Rent or buy the workshop?', strategy: 'balanced' },
    });
    const statuses = await Promise.all(
      Array.from({ length: 20 }, async (_, index) => {
        const path = `/optimizations/${id}/process`;
        const response = await clients[index % 2]!.call(path, { method: 'POST', token });
        await response.arrayBuffer();
        return response.status;
      }),
    );
    expect(new Set(statuses)).toEqual(new Set([202]));
    expect(await clients[1]!.data<Balance>('/credits/balance', { token })).toMatchObject({
      available_credits: 36,
      reserved_credits: 14,
    });
    expect(complaints()).toEqual([]);
  });
});

describe('the stream of one API process', { timeout: 300_000 }, () => {
  let token: string;

  beforeAll(async () => {
    const service = { name: 'A service', scope: 'credits:consume', dailyCap: 1_000 } as const;
    const createdBy = 'operator:test';
    token = (await issueServiceToken(database.pool, { ...service, createdBy }, new Date())).secret;
  });

  async function use({ userId }: Person, client: Client, times: number): Promise<void> {
    for (let time = 0; time < times; time += 1)
      await client.data('/credits/consume', {
        token,
        key: randomUUID(),
        body: { user_id: userId, credits: 1, reason: 'A test' },
      });
  }

  const ofAccount = (fact: { entity: { kind: string } }) => fact.entity.kind === 'account';
  /** Without the grant at sign-up, which may repeat while another transaction is open. */
  const later = (follower: Follower) => follower.facts().filter(({ version }) => version > 1);

  test('the stream of one API process has what was written through the other', async () => {
    const person = await clients[0]!.signUp();
    await using follower = follow({ url: () => urls[0]!, token: () => person.token });
    await eventually('the snapshot', () => follower.snapshots() === 1);
    await use(person, clients[1]!, 3);
    await eventually('the facts', () => later(follower).length === 3);
    expect(follower.facts().at(-1)).toMatchObject({
      type: 'CreditsConsumed',
      version: 4,
      patch: { available_credits: 47 },
    });
  });

  test(
    'a client that alternates between the two gets every fact once',
    { tags: ['long'] },
    async () => {
      const person = await clients[0]!.signUp();
      let moves = 0;
      await using follower = follow({
        url: () => urls[moves++ % 2]!,
        token: () => person.token,
        patience: () => 1 + ((moves * 7) % 5),
      });
      await eventually('the snapshot', () => follower.snapshots() === 1);
      const each = 12;
      await Promise.all(
        Array.from({ length: 4 }, (_, writer) => use(person, clients[writer % 2]!, each)),
      );
      await eventually('every fact', () => later(follower).length >= 4 * each);
      expect(follower.connections()).toBeGreaterThan(10);
      expect(later(follower).map(({ version }) => version)).toEqual(
        Array.from({ length: 4 * each }, (_, index) => index + 2),
      );
      expectEachOnce(follower, ofAccount);
    },
  );

  test('a stopped API process sends its clients to the other, and they lose nothing', async () => {
    const [stopped] = apis;
    const person = await clients[1]!.signUp();
    let connects = 0;
    await using follower = follow({
      url: () => urls[connects++ === 0 ? 0 : 1]!,
      token: () => person.token,
    });
    await eventually('the snapshot', () => follower.snapshots() === 1);
    const writing = use(person, clients[1]!, 40);
    await eventually('some facts', () => follower.facts().length > 3);
    stopped!.signal('SIGTERM');
    expect(await stopped!.ended).toBe(0);
    await writing;
    await eventually('every fact', () => later(follower).length >= 40);
    expect(follower.connections()).toBe(2);
    expectEachOnce(follower, ofAccount);
  });
});
