import { chmodSync, mkdirSync } from 'node:fs';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { createPool } from '#db/connect.ts';
import { startEmbeddedPostgres } from '#db/embedded/embedded.ts';
import { migrate } from '#db/migrate.ts';
import { projections, views } from '#projections/index.ts';
import { localKeys } from '#services/platform/process/local-keys.ts';
import type { LocalKeys } from '#services/platform/process/local-keys.ts';
import type { Log } from '#services/platform/process/log.ts';
import { processService } from '#services/platform/process/supervise.ts';
import type { Service } from '#services/platform/process/supervise.ts';

/** A Postgres with the settings of the product, fsync on. */
export async function openBenchDatabase(dataDir: string) {
  // Postgres runs as another user when this runs as root.
  chmodSync(dataDir, 0o755);
  const server = await startEmbeddedPostgres({ dataDir, log: () => {} });
  const { appUrl, ownerUrl, auditorUrl } = server;
  const options = { max: 40, applicationName: 'bench', onError: () => {} };
  const pool = createPool(appUrl, options);
  const ownerPool = createPool(ownerUrl, { ...options, longTransactions: true });
  const { functionName } = await migrate({
    ownerUrl,
    appRole: new URL(appUrl).username,
    auditorRole: new URL(auditorUrl).username,
    projections,
    views,
    log: () => {},
  });
  return {
    appUrl,
    ownerUrl,
    pool,
    ownerPool,
    functionName,
    async stop() {
      await Promise.all([pool.end(), ownerPool.end()]);
      await server.stop();
    },
  };
}

type BenchDatabase = Awaited<ReturnType<typeof openBenchDatabase>>;

/** A database, and what the processes over it are started with. */
export type GrowthDatabase = BenchDatabase & {
  name: string;
  dataDir: string;
  keys: LocalKeys;
  log: Log;
  port: number;
  publicUrl: string;
  service(name: string, file: string): Service;
};

export async function openDatabase(
  name: string,
  folder: string,
  port: number,
  log: Log,
): Promise<GrowthDatabase> {
  const dataDir = join(folder, name);
  mkdirSync(dataDir, { recursive: true });
  // Postgres runs as another user when this runs as root.
  chmodSync(folder, 0o755);
  const database = await openBenchDatabase(dataDir);
  const publicUrl = `http://127.0.0.1:${port}`;
  const variables = {
    DATABASE_URL: database.appUrl,
    DATA_DIR: dataDir,
    SANDBOX_URL: `http://127.0.0.1:${port + 1}`,
    SANDBOX_PROFILE: 'instant',
    PORT: String(port),
    PUBLIC_URL: publicUrl,
    LOG_LEVEL: 'error',
    RATE_LIMITS: 'off',
    REQUIRE_EMAIL_CONFIRMATION: 'false',
  };
  return {
    ...database,
    name,
    dataDir,
    keys: localKeys(dataDir),
    log,
    port,
    publicUrl,
    service: (label, file) =>
      processService({
        name: `${label} ${name}`,
        file: join(import.meta.dirname, '../../../services', file),
        variables,
      }),
  };
}

/** Any port that is probably free, with its neighbour for the sandbox. */
export function anyPort(): number {
  return 20_000 + (randomBytes(2).readUInt16BE() % 20_000);
}
