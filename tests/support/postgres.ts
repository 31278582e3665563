import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import type { TestProject } from 'vitest/node';
import { startEmbeddedPostgres } from '#db/embedded/embedded.ts';
import { migrate } from '#db/migrate.ts';
import { projections, views } from '#projections/index.ts';

/**
 * One Postgres for the whole test run, with one migrated database that tests clone. DATABASE_URL
 * names a server whose role may create roles and databases; otherwise TEST_POSTGRES=testcontainers
 * asks a Docker engine for one, and by default the embedded one runs in a temporary folder.
 */
export type TestServer = {
  /** URLs of the template database, by role. */
  ownerUrl: string;
  appUrl: string;
  auditorUrl: string;
  template: string;
};

declare module 'vitest' {
  export interface ProvidedContext {
    postgres: TestServer;
  }
}

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const { server, stop } = await startServer();
  try {
    await migrate({
      ownerUrl: server.ownerUrl,
      appRole: roleOf(server.appUrl),
      auditorRole: roleOf(server.auditorUrl),
      projections,
      views,
      log: () => undefined,
    });
  } catch (error) {
    await stop();
    throw error;
  }
  project.provide('postgres', server);
  return stop;
}

type Started = { server: TestServer; stop: () => Promise<void> };

async function startServer(): Promise<Started> {
  const url = process.env['DATABASE_URL'];
  if (url !== undefined && url !== '') return borrowServer(url);
  if (process.env['TEST_POSTGRES'] === 'testcontainers') return startContainer();
  return startEmbedded();
}

async function startEmbedded(): Promise<Started> {
  const dataDir = mkdtempSync(join(tmpdir(), 'sevenfold-test-'));
  // When root runs the tests, Postgres runs as another user, who must be able to enter.
  chmodSync(dataDir, 0o755);
  const remove = () => rmSync(dataDir, { recursive: true, force: true });
  try {
    // No test needs its data to survive a crash of the machine.
    const settings = ['fsync=off', 'full_page_writes=off', 'shared_buffers=64MB'];
    const server = await startEmbeddedPostgres({ dataDir, settings, log: () => undefined });
    return {
      server: { ...urlsOf(server), template: new URL(server.ownerUrl).pathname.slice(1) },
      async stop() {
        await server.stop();
        remove();
      },
    };
  } catch (error) {
    remove();
    throw error;
  }
}

async function startContainer(): Promise<Started> {
  const { PostgreSqlContainer } = await import('@testcontainers/postgresql');
  const container = await new PostgreSqlContainer('postgres:18-alpine').start();
  const borrowed = await borrowServer(container.getConnectionUri());
  return {
    server: borrowed.server,
    async stop() {
      await container.stop();
    },
  };
}

/** This run's own roles and template on a given server, removed at the end. */
async function borrowServer(adminUrl: string): Promise<Started> {
  const run = randomBytes(4).toString('hex');
  const password = randomBytes(16).toString('hex');
  const template = `sevenfold_test_${run}`;
  const names = ['owner', 'app', 'auditor'].map((role) => `sevenfold_${role}_${run}`);
  const urls = names.map((name) => {
    const url = new URL(adminUrl);
    url.username = name;
    url.password = password;
    url.pathname = template;
    return url.href;
  });
  await asAdmin(adminUrl, async (admin) => {
    for (const name of names) {
      const rights = name.includes('owner') ? 'login createdb' : 'login';
      await admin.query(`create role ${name} with ${rights} password '${password}'`);
    }
    await admin.query(`grant pg_monitor, pg_signal_backend to ${names[0]}`);
    await admin.query(`grant ${names[0]} to current_user`);
    await admin.query(`create database ${template} owner ${names[0]}`);
  });
  const [ownerUrl = '', appUrl = '', auditorUrl = ''] = urls;
  return {
    server: { ownerUrl, appUrl, auditorUrl, template },
    async stop() {
      await asAdmin(adminUrl, async (admin) => {
        const { rows } = await admin.query<{ name: string }>(
          'select datname as name from pg_database where datdba = $1::regrole',
          [names[0]],
        );
        for (const { name } of rows) await admin.query(`drop database ${name} with (force)`);
        for (const name of names) await admin.query(`drop role ${name}`);
      });
    },
  };
}

async function asAdmin(url: string, work: (admin: pg.Client) => Promise<void>): Promise<void> {
  const admin = new pg.Client({ connectionString: url });
  await admin.connect();
  try {
    await work(admin);
  } finally {
    await admin.end();
  }
}

function urlsOf(server: { ownerUrl: string; appUrl: string; auditorUrl: string }) {
  const { ownerUrl, appUrl, auditorUrl } = server;
  return { ownerUrl, appUrl, auditorUrl };
}

export function roleOf(url: string): string {
  return decodeURIComponent(new URL(url).username);
}
