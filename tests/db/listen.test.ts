import { setTimeout as sleep } from 'node:timers/promises';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { startListening, type Listener } from '#db/listen.ts';
import { createTestDatabase, type TestDatabase } from '#tests/support/database.ts';

let db: TestDatabase;
let listener: Listener | undefined;
let proxy: Proxy;

beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());
beforeEach(async () => {
  proxy = await startProxy(new URL(db.appUrl));
});
afterEach(async () => {
  await listener?.close();
  await proxy.close();
});

/** Notifies like a commit until the listener reports it; older notices may arrive first. */
async function isHeard(rings: () => number): Promise<boolean> {
  const before = rings();
  while (rings() === before) {
    await db.pool.query(`select pg_notify('events', '')`);
    await sleep(10);
  }
  return true;
}

function listen(url: string, reasons: unknown[] = []) {
  let rung = 0;
  listener = startListening({
    url,
    pingEveryMs: 100,
    silenceMs: 1_000,
    onReconnect: (reason) => reasons.push(reason),
  });
  listener.onWake(() => {
    rung += 1;
  });
  return { ready: listener.ready, rings: () => rung };
}

test('a listener notifies at a commit and at its own start', async () => {
  const { ready, rings } = listen(db.appUrl);
  await ready;
  expect(rings()).toBe(1);
  expect(await isHeard(rings)).toBe(true);
});

test('a listener whose connection was cut reconnects and notifies for missed commits', async () => {
  const { ready, rings } = listen(proxy.url);
  await ready;
  const before = rings();
  proxy.cut();
  while (rings() === before) await sleep(5);
  expect(await isHeard(rings)).toBe(true);
});

test('a listener gives up a connection that is silent but open', async () => {
  const reasons: unknown[] = [];
  const { ready, rings } = listen(proxy.url, reasons);
  await ready;
  proxy.freeze();
  while (reasons.length === 0) await sleep(5);
  proxy.thaw();
  expect(await isHeard(rings)).toBe(true);
  expect(String(reasons[0])).toContain('got no notice');
});

test('a listener reconnects to a server that refused for a while', async () => {
  const { ready, rings } = listen(proxy.url);
  await ready;
  proxy.refuse();
  proxy.cut();
  await sleep(400);
  proxy.accept();
  expect(await isHeard(rings)).toBe(true);
});

test('a removed callback is not called, and a closed listener leaves no connection', async () => {
  const { ready } = listen(db.appUrl);
  await ready;
  let called = 0;
  const unsubscribe = listener!.onWake(() => {
    called += 1;
  });
  unsubscribe();
  await db.pool.query(`select pg_notify('events', '')`);
  await listener!.close();
  expect(called).toBe(0);
  const open = async () => {
    const { rows } = await db.ownerPool.query<{ count: string }>(
      `select count(*) from pg_stat_activity where application_name = 'sevenfold listener'
         and datname = current_database()`,
    );
    return rows[0]?.count;
  };
  while ((await open()) !== '0') await sleep(5);
});

type Proxy = {
  url: string;
  cut: () => void;
  freeze: () => void;
  thaw: () => void;
  refuse: () => void;
  accept: () => void;
  close: () => Promise<void>;
};

/** A proxy between client and server that breaks connections as networks do. */
async function startProxy(target: URL): Promise<Proxy> {
  const lines = new Set<[Socket, Socket]>();
  let frozen = false;
  let refusing = false;
  const server: Server = createServer((near) => {
    if (refusing) {
      near.destroy();
      return;
    }
    const far = connect({ host: target.hostname, port: Number(target.port) });
    const line: [Socket, Socket] = [near, far];
    lines.add(line);
    const end = () => {
      near.destroy();
      far.destroy();
      lines.delete(line);
    };
    for (const [from, to] of [line, [far, near] as const]) {
      from.on('data', (bytes) => frozen || to.write(bytes));
      from.on('error', end);
      from.on('close', end);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The proxy has no port');
  const url = new URL(target);
  url.hostname = '127.0.0.1';
  url.port = String(address.port);
  const cut = () => {
    for (const [near] of lines) near.destroy();
  };
  return {
    url: url.href,
    cut,
    freeze: () => (frozen = true),
    thaw: () => (frozen = false),
    refuse: () => (refusing = true),
    accept: () => (refusing = false),
    close: async () => {
      cut();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
