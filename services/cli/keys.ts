import { createHash, randomBytes } from 'node:crypto';
import { signingKeyId } from '#services/identity/sessions/tokens.ts';
import { heartbeatStaleSeconds } from '#services/platform/http/health.ts';
import { localKeys, replaceLocalKeys } from '#services/platform/process/local-keys.ts';
import type { LocalKeyKind } from '#services/platform/process/local-keys.ts';
import { createSealer } from '#services/platform/seal.ts';
import { operatorName, printResult } from './command.ts';
import type { CliCommand } from './command.ts';
import type { Database } from './database.ts';

/**
 * `keys rotate`. With keys in files of the data folder, it creates a new one, puts it first, rewraps every
 * data key and drops the old ones. With keys in variables it changes none: it wraps every data key with the
 * first of DATA_KEY and lists the keys that are no longer used.
 */
const rotate: CliCommand = {
  noun: 'keys',
  verb: 'rotate',
  arguments: '',
  summary: 'Creates new encryption and signing keys. Old keys are retired once nothing needs them.',
  options: {
    data: { type: 'boolean', help: 'Only the key that wraps data keys (DATA_KEY)' },
    jwt: { type: 'boolean', help: 'Only the key that signs tokens (JWT_KEYS)' },
  },
  async run(call) {
    const { database, options } = call;
    const wanted = kinds.filter((kind) => options[kind] === true);
    const chosen = wanted.length === 0 ? kinds : wanted;
    const inFile = new Set(chosen.filter((kind) => isInFile(database, kind)));
    const rotated = await alone(database, async () => {
      if (inFile.size > 0) await requireStopped(database);
      const done: Rotated[] = [];
      for (const kind of chosen) {
        const result = await rotations[kind][inFile.has(kind) ? 'file' : 'variable'](database);
        await record(database, result);
        done.push(result);
      }
      return done;
    });
    printResult(call, Object.fromEntries(rotated.map(documentOf)), rotated.flatMap(linesOf));
    return 0;
  },
};

/** Refused for a reason that the operator can remove. */
export class RotationRefused extends Error {
  override readonly name = 'RotationRefused';
}

const kinds: readonly LocalKeyKind[] = ['data', 'jwt'];
const variableOf = { data: 'DATA_KEY', jwt: 'JWT_KEYS' } as const;

type Rotated = {
  kind: LocalKeyKind;
  kept: 'file' | 'variable';
  /** Ids, newest first: the first wraps or signs, all of them open or verify. */
  keys: readonly string[];
  /** Those of `keys`, or of the old file, that are no longer used. */
  retired: readonly string[];
  /** Data keys that were rewrapped. */
  rewrapped: number;
};

async function rewrapOntoFirst({ env, sealer }: Database): Promise<Rotated> {
  const keys = env.dataKeys.map(dataKeyId);
  const rewrapped = await rewrapAll(sealer);
  return { kind: 'data', kept: 'variable', keys, retired: keys.slice(1), rewrapped };
}

async function replaceDataKey(database: Database): Promise<Rotated> {
  const { env, pool } = database;
  const old = localKeys(env.dataDir).data;
  const fresh = randomBytes(32);
  const dataKeys = [fresh, ...old];
  // The new key is saved first, so that a crash never leaves data keys that no saved key opens.
  replaceLocalKeys(env.dataDir, 'data', dataKeys);
  const rewrapped = await rewrapAll(createSealer({ dataKeys, pool }));
  // A process that started during the rotation may still wrap with the old key.
  await requireStopped(database);
  replaceLocalKeys(env.dataDir, 'data', [fresh]);
  return {
    kind: 'data',
    kept: 'file',
    keys: [dataKeyId(fresh)],
    retired: old.map(dataKeyId),
    rewrapped,
  };
}

/** Repeats until none is left: a key created during the loop may sort before the last page. */
async function rewrapAll(sealer: Pick<Database['sealer'], 'rewrapKeys'>): Promise<number> {
  let all = 0;
  for (;;) {
    const rewrapped = await sealer.rewrapKeys();
    if (rewrapped === 0) return all;
    all += rewrapped;
  }
}

/** Tokens of older signing keys have expired. */
const signingKeys = 2;

async function describeSigningKeys({ env }: Database): Promise<Rotated> {
  const keys = env.jwtKeys.map(signingKeyId);
  return { kind: 'jwt', kept: 'variable', keys, retired: keys.slice(1), rewrapped: 0 };
}

async function replaceSigningKey({ env }: Database): Promise<Rotated> {
  const all = [randomBytes(32), ...localKeys(env.dataDir).jwt];
  replaceLocalKeys(env.dataDir, 'jwt', all.slice(0, signingKeys));
  const ids = all.map(signingKeyId);
  return {
    kind: 'jwt',
    kept: 'file',
    keys: ids.slice(0, signingKeys),
    retired: ids.slice(signingKeys),
    rewrapped: 0,
  };
}

const rotations = {
  data: { file: replaceDataKey, variable: rewrapOntoFirst },
  jwt: { file: replaceSigningKey, variable: describeSigningKeys },
} as const;

// --- conditions ---

/** In local mode without the variable, the keys are those of the file. */
function isInFile({ env }: Database, kind: LocalKeyKind): boolean {
  if (env.mode !== 'local') return false;
  const inUse = kind === 'data' ? env.dataKeys : env.jwtKeys;
  const inFile = localKeys(env.dataDir)[kind];
  return inUse.length === inFile.length && inUse.every((key, at) => key.equals(inFile[at]!));
}

/** @throws RotationRefused while a process with the old keys runs */
async function requireStopped({ pool }: Database): Promise<void> {
  const { rows } = await pool.query<{ running: boolean }>(
    `select exists (
         select from process_heartbeat where beat_at > now() - make_interval(secs => $1))
       or exists (
         select from pg_stat_activity
         where datname = current_database() and application_name ~ '^sevenfold (api|worker)')
       as running`,
    [heartbeatStaleSeconds],
  );
  if (rows[0]?.running === true)
    throw new RotationRefused(
      'The app is running with the old keys, or just stopped. Stop it and try again in 30 seconds.',
    );
}

/** Two rotations at once would drop each other's key. */
async function alone<Result>(
  { ownerPool }: Database,
  work: () => Promise<Result>,
): Promise<Result> {
  const client = await ownerPool.connect();
  try {
    const { rows } = await client.query<{ mine: boolean }>(
      `select pg_try_advisory_lock(hashtext('sevenfold keys rotate')) as mine`,
    );
    if (rows[0]?.mine !== true)
      throw new RotationRefused('Another rotation of the keys is in progress');
    return await work();
  } finally {
    // Closing the session releases the lock in any state.
    client.release(true);
  }
}

async function record({ audit }: Database, result: Rotated): Promise<void> {
  const { kind, kept, keys, retired, rewrapped } = result;
  await audit({
    actor: operatorName(),
    action: 'keys.rotated',
    subject: keys[0] ?? 'unknown',
    detail: { kind, kept, retired: retired.join(' '), rewrapped },
  });
}

/** A key id that reveals nothing about the key. */
function dataKeyId(key: Buffer): string {
  return createHash('sha256').update('sevenfold data key').update(key).digest('hex').slice(0, 12);
}

// --- output ---

function documentOf({ kind, ...rest }: Rotated): [string, unknown] {
  return [kind, rest];
}

function linesOf({ kind, kept, keys, retired, rewrapped }: Rotated): string[] {
  const [first, ...others] = keys;
  const variable = variableOf[kind];
  const lines =
    kind === 'data'
      ? [`Data keys: ${rewrapped} rewrapped. All now use ${first}.`]
      : [
          `Tokens: ${first} signs${others.length > 0 ? `, ${others.join(', ')} still verify` : ''}.`,
        ];
  if (kept === 'file')
    return retired.length === 0
      ? lines
      : [...lines, `Removed from the file: ${retired.join(', ')}.`];
  if (retired.length === 0)
    return [
      ...lines,
      `${variable} holds one key. To replace it, put a new one before it (openssl rand -base64 32), restart every process, and run this again.`,
    ];
  const from = kind === 'data' ? 'now' : 'a day after every process was started with the new one';
  return [...lines, `May be removed from ${variable} ${from}: ${retired.join(', ')}.`];
}

export const keyCommands: readonly CliCommand[] = [rotate];
