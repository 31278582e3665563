import { hostname } from 'node:os';
import { createPool } from '#db/connect.ts';
import { heartbeatStaleSeconds } from './platform/http/health.ts';
import { databaseUrlOf } from './platform/process/env.ts';
import { settingsOrExit } from './platform/process/lifecycle.ts';

/** Exits with 0 when a worker of this host, which is the container, has written its heartbeat lately. */
const pool = createPool(databaseUrlOf(settingsOrExit()), {
  max: 1,
  applicationName: 'sevenfold health',
  onError: () => undefined,
});
const { rowCount } = await pool.query(
  `select from process_heartbeat where kind = 'worker' and host = $1
     and beat_at > now() - make_interval(secs => $2)`,
  [hostname(), heartbeatStaleSeconds],
);
await pool.end();
if (rowCount === 0) {
  console.error('No worker of this host has written its heartbeat');
  process.exit(1);
}
