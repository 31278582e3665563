import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { connect as connectSocket, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { join } from 'node:path';
import { createBackup } from '#db/backup/backups.ts';
import { layOut } from '#db/backup/lay-out.ts';
import {
  connect,
  describeCluster,
  openCluster,
  prepareFolders,
  foldersOf,
  runningServer,
  startServer,
  stopServer,
} from '#db/embedded/cluster.ts';
import type { Cluster, Server } from '#db/embedded/cluster.ts';
import { startEmbeddedPostgres } from '#db/embedded/embedded.ts';
import { embeddedDatabase, prepareDatabase } from '#services/migrate.ts';
import { createLog } from '#services/platform/process/log.ts';
import { eventually, listProcesses, signal } from './processes.ts';

/**
 * A primary with a standby that has applied each commit before it is acknowledged, behind an address that leads
 * to one of them, as Patroni and its proxy do it.
 */
export type Pair = AsyncDisposable & {
  /** Of the proxy. */
  ownerUrl: string;
  appUrl: string;
  /** Kills every process of the primary at the same moment. */
  killPrimary(): Promise<void>;
  /** Makes the standby the primary; resolves when it takes writes. */
  promote(): Promise<void>;
  /** Leads new connections to the standby and cuts all others. */
  switchOver(): void;
};

const silent = () => undefined;
const starting = { timeoutMs: 60_000, logBytes: 10_000_000 };
const name = 'standby';

export async function startPair(folder: string): Promise<Pair> {
  const [first, second] = ['primary', 'standby'].map((one) => join(folder, one)) as [
    string,
    string,
  ];
  const settings = ['synchronous_commit=remote_apply', 'wal_keep_size=512MB'];
  await using failed = new AsyncDisposableStack();
  const held = await startEmbeddedPostgres({ dataDir: first, log: silent, settings });
  failed.defer(async () => held.stop());
  await prepareDatabase(
    embeddedDatabase(held),
    'local',
    createLog({ level: 'silent', process: 'test' }),
  );
  const primary = await openCluster(first, silent);
  const standby = await copyOf(primary, held.port, folder, second);
  const server = await startServer(standby, { ...starting, settings: replicating(primary, held) });
  if (server === null) throw new Error('The standby did not start');
  failed.defer(async () => stopServer(standby, server, 30_000));
  await synchronize(primary, held.port);
  const proxy = await startProxy(held.port);
  const resources = failed.move();
  resources.defer(async () => proxy.close());
  return {
    ownerUrl: through(proxy.port, held.ownerUrl),
    appUrl: through(proxy.port, held.appUrl),
    killPrimary: async () => killAll(primary),
    async promote() {
      const client = await connect(standby, server.port);
      await client.query('select pg_promote(true, 60)');
      await client.end();
    },
    switchOver: () => proxy.leadTo(server.port),
    [Symbol.asyncDispose]: async () => resources.disposeAsync(),
  };
}

/** From a base backup, with the same passwords. */
async function copyOf(
  primary: Cluster,
  port: number,
  folder: string,
  dataDir: string,
): Promise<Cluster> {
  const into = join(folder, 'backups');
  const backup = await createBackup({
    cluster: primary,
    port,
    into,
    software: 'test',
    now: new Date(),
  });
  const folders = foldersOf(dataDir);
  mkdirSync(folders.data);
  prepareFolders(folders);
  copyFileSync(primary.folders.passwords, folders.passwords);
  const cluster = await describeCluster(dataDir);
  await layOut(backup, cluster.folders.cluster, cluster.runAs);
  writeFileSync(join(cluster.folders.cluster, 'standby.signal'), '');
  return cluster;
}

function replicating({ passwords }: Cluster, { port }: { port: number }): string[] {
  const from = `host=127.0.0.1 port=${port} user=postgres password=${passwords.superuser}`;
  return ['hot_standby=on', `primary_conninfo=${from} application_name=${name}`];
}

/** From here on a commit waits until the standby has applied it. */
async function synchronize(primary: Cluster, port: number): Promise<void> {
  const client = await connect(primary, port);
  try {
    await client.query(`alter system set synchronous_standby_names = '${name}'`);
    await client.query('select pg_reload_conf()');
    await eventually('a synchronous standby', async () => {
      const { rows } = await client.query(
        `select from pg_stat_replication where application_name = $1 and sync_state = 'sync'`,
        [name],
      );
      return rows.length === 1;
    });
  } finally {
    await client.end();
  }
}

async function killAll({ folders }: Cluster): Promise<void> {
  const postmaster: Server | null = await runningServer(folders);
  if (postmaster === null) throw new Error('The primary does not run');
  const backends = (await listProcesses()).filter(({ parent }) => parent === postmaster.pid);
  for (const pid of [postmaster.pid, ...backends.map((one) => one.pid)]) signal(pid, 'SIGKILL');
  await eventually('the end of the primary', async () => (await runningServer(folders)) === null);
}

// --- the address ---

async function startProxy(firstPort: number) {
  let target = firstPort;
  const sockets = new Set<Socket>();
  const server = createServer((inner) => {
    const outer = connectSocket(target, '127.0.0.1');
    for (const [one, other] of [
      [inner, outer],
      [outer, inner],
    ] as const) {
      sockets.add(one);
      one.on('error', () => other.destroy());
      one.on('close', () => {
        sockets.delete(one);
        other.destroy();
      });
      one.pipe(other);
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    leadTo(port: number) {
      target = port;
      cut();
    },
    async close() {
      const closed = once(server, 'close');
      server.close();
      cut();
      await closed;
    },
  };
}

function through(port: number, url: string): string {
  const changed = new URL(url);
  changed.port = String(port);
  return changed.href;
}
