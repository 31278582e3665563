import { statfs } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import type { Env } from '#services/platform/process/env.ts';
import { ok, warning, wrong } from './finding.ts';
import type { Check, Finding } from './finding.ts';

const gigabyte = 1_000_000_000;
/** Postgres stops when its disk is full, so there must be time to act. */
const littleSpace = { share: 0.1, bytes: 5 * gigabyte };
const noSpace = gigabyte;

/** Tokens, webhooks and anchors compare times. */
const clockMs = { warning: 2_000, wrong: 30_000 };
const dateTimeoutMs = 5_000;

const disk: Check = {
  name: 'disk',
  async run({ env }) {
    const folders = [...(existsSync(env.dataDir) ? [env.dataDir] : []), tmpdir()];
    return Promise.all(folders.map(spaceOf));
  },
};

async function spaceOf(folder: string): Promise<Finding> {
  const { bavail, blocks, bsize } = await statfs(folder);
  const free = bavail * bsize;
  const what = `${(free / gigabyte).toFixed(1)} GB free in ${folder}`;
  if (free < noSpace) return wrong(what, 'free some space now');
  const isLittle = free < littleSpace.bytes && bavail < blocks * littleSpace.share;
  return isLittle ? warning(what, 'free some space, or move it to a larger disk') : ok(what);
}

const databaseClock: Check = {
  name: 'clock of the database',
  async runOnDatabase({ database: { pool } }) {
    const asked = Date.now();
    const { rows } = await pool.query<{ at: number }>(
      'select extract(epoch from clock_timestamp())::float8 * 1000 as at',
    );
    return [compared((rows[0]?.at ?? 0) - (asked + Date.now()) / 2, 'the database')];
  },
};

/** Only where the app calls others anyway: in local mode nothing leaves the machine. */
const outsideClock: Check = {
  name: 'clock outside',
  async run({ env }) {
    const url = outsideOf(env);
    if (url === null) return [ok('not compared, because no outside service is configured')];
    const asked = Date.now();
    const date = await fetch(url, { method: 'HEAD', signal: AbortSignal.timeout(dateTimeoutMs) })
      .then((response) => Date.parse(response.headers.get('date') ?? ''))
      .catch(() => Number.NaN);
    const { host } = new URL(url);
    if (Number.isNaN(date)) return [ok(`${host} gave no time to compare with`)];
    // The header has whole seconds.
    return [compared(date + 500 - (asked + Date.now()) / 2, host)];
  },
};

function outsideOf(env: Env): string | null {
  if (env.stripe !== null) return env.stripe.url ?? 'https://api.stripe.com';
  return 'openrouter' in env.providerKeys
    ? (env.providerUrls['openrouter'] ?? 'https://openrouter.ai')
    : null;
}

function compared(differenceMs: number, other: string): Finding {
  const size = Math.abs(differenceMs);
  const what = `${(size / 1000).toFixed(1)} s ${differenceMs > 0 ? 'behind' : 'ahead of'} ${other}`;
  if (size < clockMs.warning) return ok(`agrees with ${other} to within ${clockMs.warning} ms`);
  const remedy = 'set both clocks by NTP';
  return size < clockMs.wrong ? warning(what, remedy) : wrong(what, remedy);
}

export const machineChecks: readonly Check[] = [disk, databaseClock, outsideClock];
