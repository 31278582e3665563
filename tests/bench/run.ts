import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createPool } from '#db/connect.ts';
import { startEmbeddedPostgres } from '#db/embedded.ts';
import { migrate } from '#db/migrate.ts';
import { projections } from '#projections/index.ts';
import { createLog } from '#services/platform/log.ts';
import { benchCommands } from './commands.ts';
import { benchReaders } from './readers.ts';
import { benchRuns } from './runs.ts';

/**
 * All benchmarks in one run, each beside its limit and its peers, on a Postgres of their own with
 * fsync on. `--quick` takes a tenth of the time and says little. Ratios within one run are what
 * counts: the same machine runs server and clients.
 */
const quick = process.argv.includes('--quick');
const dataDir = mkdtempSync(join(tmpdir(), 'sevenfold-bench-'));
// Postgres runs as another user when this runs as root.
chmodSync(dataDir, 0o755);
const log = createLog({ level: 'error', process: 'bench' });
const server = await startEmbeddedPostgres({ dataDir, log: () => {} });
const poolOptions = { max: 40, applicationName: 'bench', onError: () => {} };
const pool = createPool(server.appUrl, poolOptions);
const ownerPool = createPool(server.ownerUrl, { ...poolOptions, longTransactions: true });
try {
  const { functionName } = await migrate({
    ownerUrl: server.ownerUrl,
    appRole: new URL(server.appUrl).username,
    auditorRole: new URL(server.auditorUrl).username,
    projections,
    log: () => {},
  });
  console.log(
    `${cpus().length} cores, Node ${process.version}, Postgres 18 beside it, fsync on${quick ? ', quick' : ''}`,
  );
  const shared = { pool, ownerPool, functionName, log };
  await benchRuns({
    appUrl: server.appUrl,
    dataDir,
    pool,
    log,
    runs: quick ? 5 : 20,
    facts: quick ? 20 : 200,
  });
  await benchCommands({ ...shared, durationMs: quick ? 300 : 3000, countFlushes: !quick });
  await benchReaders({ ...shared, events: quick ? 50_000 : 500_000 });
} finally {
  await Promise.all([pool.end(), ownerPool.end()]);
  await server.stop();
  rmSync(dataDir, { recursive: true, force: true });
}
