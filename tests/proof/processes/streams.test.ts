import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Balance } from '#services/credits/contract.ts';
import type { Fact } from '#services/live/contract.ts';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import { randomOf } from '#tests/support/chance.ts';
import { createTestDatabase } from '#tests/support/database.ts';
import { operateJson } from '#tests/support/processes/operator.ts';
import {
  createClient,
  eventually,
  startProcess,
  temporaryFolder,
} from '#tests/support/processes/processes.ts';
import type { Client, OwnProcess, Settings } from '#tests/support/processes/processes.ts';
import { expectEachOnce, expectWhole } from '#tests/processes/support/check.ts';
import { follow } from '#tests/processes/support/follow.ts';
import type { Follower } from '#tests/processes/support/follow.ts';
import { startGate } from '#tests/processes/support/gate.ts';
import type { Gate } from '#tests/processes/support/gate.ts';

/** Two API processes, the stream of each, and a third process that works the runs. */
let settings: Settings;
let started: AsyncDisposableStack;
let gate: Gate;
let apis: OwnProcess[];
let urls: string[];
let client: Client;

beforeAll(async () => {
  started = new AsyncDisposableStack();
  const database = await createTestDatabase();
  started.defer(async () => database.drop());
  const folder = temporaryFolder();
  started.defer(() => folder.remove());
  settings = {
    DATABASE_URL: database.appUrl,
    MIGRATE_DATABASE_URL: database.ownerUrl,
    DATA_DIR: folder.path,
    PUBLIC_URL: 'http://127.0.0.1:3000',
    SANDBOX_URL: 'http://127.0.0.1:1',
    PORT: '0',
  };
  const sandbox = started.use(await startProcess('sandbox/server.ts', { DATA_DIR: folder.path }));
  gate = started.use(await startGate(String(sandbox.details['url']), ['hold']));
  apis = await Promise.all([startProcess('api.ts', settings), startProcess('api.ts', settings)]);
  for (const api of apis) started.use(api);
  urls = apis.map((api) => String(api.details['address']));
  client = createClient(urls[1] ?? '', settings);
  started.use(await startProcess('worker.ts', { ...settings, SANDBOX_URL: gate.url }));
}, 300_000);
afterAll(async () => started.disposeAsync(), 300_000);

const cuts = 50;
const ofRun = ({ entity }: Fact) => entity.kind === 'run';
const ofAccount = ({ entity }: Fact) => entity.kind === 'account';
/** What was there before may be in the snapshot alone, or come once more. */
const noticesOf = (follower: Follower) => follower.facts().filter(({ version }) => version > 1);
const isSettled = (follower: Follower, credits: number) =>
  follower.facts().findLast(ofAccount)?.patch['available_credits'] === credits;

test(
  'watchers of two processes get the same facts in the same order, also one whose process is killed, ' +
    'and one whose connection is cut 50 times',
  { timeout: 300_000 },
  async () => {
    const person = await client.signUp({ credits: 100 });
    const { token, email } = person;
    const { id: watching } = await client.data<Optimization>('/optimizations', {
      token,
      body: { challenge: 'Rent or buy the workshop?', strategy: 'balanced' },
    });
    const common = { token: () => token, watching };
    const random = randomOf(2611);
    let killed = false;
    let connects = 0;
    await using steady = follow({ ...common, url: () => urls[1] ?? '' });
    await using moved = follow({ ...common, url: () => urls[killed ? 1 : 0] ?? '' });
    await using cut = follow({
      ...common,
      url: () => urls[killed ? 1 : connects % 2] ?? '',
      // The snapshot is whole; from then on it ends anywhere, also before anything new is heard.
      patience: () => {
        connects += 1;
        return connects > cuts ? Number.POSITIVE_INFINITY : Math.floor(random() * 4);
      },
    });
    const all = [steady, moved, cut];
    await eventually('the snapshots', () => all.every((one) => one.snapshots() === 1));

    await client.data(`/optimizations/${watching}/process`, { method: 'POST', token });
    await eventually('calls that wait for their answers', () => gate.waiting() > 0);
    await eventually('facts at the one that is killed', () => moved.facts().some(ofRun));
    apis[0]?.signal('SIGKILL');
    expect(await apis[0]?.ended).toBe(null);
    killed = true;
    gate.release();
    await steady.until('the end of the run', (run) => run.stage === 'closed', 180_000);
    // Whatever the cuts still need to happen in.
    for (let gift = 0; gift < 200 && cut.connections() <= cuts; gift += 1)
      await operateJson(settings, 'credits', 'grant', email, '1', '--reason', 'Test');
    const balance = await client.data<Balance>('/credits/balance', { token });
    for (const one of all)
      await eventually('the last fact', () => isSettled(one, balance.available_credits));

    expect(cut.connections()).toBeGreaterThan(cuts);
    for (const one of all) {
      expectEachOnce(one, ofRun);
      expectEachOnce(one, ofAccount);
      expect(noticesOf(one)).toEqual(noticesOf(steady));
      expect(one.run()).toEqual(steady.run());
      expect(one.facts().findLast(ofAccount)?.patch).toEqual(balance);
    }
    await expectWhole(client, settings, { ...cutWatch(cut), person, runId: watching });
  },
);

/** What is left of it is disposed of where it began. */
function cutWatch(follower: Follower) {
  return { follower, [Symbol.asyncDispose]: async () => {} };
}
