import pg from 'pg';
import type { Chance } from '#tests/support/chance.ts';
import { ownerUrlOf, signal } from '#tests/support/processes/processes.ts';
import type { Application } from '#tests/support/processes/processes.ts';

/**
 * What is killed, and of a hundred kills how many. A kill of the sandbox waits until providers have been
 * available for a while, and the last two start everything again, so these come less often.
 */
export const targets = [
  { name: 'worker', weight: 21 },
  { name: 'workers', weight: 12 },
  { name: 'api', weight: 21 },
  { name: 'backend', weight: 23 },
  { name: 'postgres', weight: 9 },
  { name: 'sandbox', weight: 4 },
  { name: 'supervisor', weight: 6 },
  { name: 'everything', weight: 4 },
] as const;
export type Target = (typeof targets)[number]['name'];

/** Resolves with how many processes it has killed: none, when those it is about are just being started. */
export async function strike(
  target: Target,
  { app, dataDir, chance }: { app: Application; dataDir: string; chance: Chance },
): Promise<number> {
  const one = (pids: readonly number[]) => chance.pick(pids);
  switch (target) {
    case 'worker':
      return kill(one(await app.pids('worker')));
    case 'workers':
      return kill(...(await app.pids('worker')));
    case 'api':
      return kill(one(await app.pids('api')));
    case 'sandbox':
      return kill(...(await app.pids('sandbox')));
    case 'postgres':
      return kill(one(await app.pids('postgres')));
    case 'backend':
      return kill(one(await backends(dataDir)));
    case 'supervisor':
      return kill(app.supervisor);
    case 'everything':
      return kill(...(await app.family()).map(({ pid }) => pid));
  }
}

function kill(...pids: readonly (number | undefined)[]): number {
  const found = pids.filter((pid) => pid !== undefined);
  for (const pid of found) signal(pid, 'SIGKILL');
  return found.length;
}

async function backends(dataDir: string): Promise<number[]> {
  const owner = new pg.Client({ connectionString: ownerUrlOf(dataDir) });
  // Postgres may be down already; then there is none to kill.
  owner.on('error', () => undefined);
  try {
    await owner.connect();
    const { rows } = await owner.query<{ pid: number }>(
      `select pid from pg_stat_activity where application_name like 'sevenfold%'
       and pid <> pg_backend_pid() and usename <> current_user`,
    );
    return rows.map(({ pid }) => pid);
  } catch {
    return [];
  } finally {
    await owner.end().catch(() => undefined);
  }
}
