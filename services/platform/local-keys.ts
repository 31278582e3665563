import { randomBytes } from 'node:crypto';
import { chmodSync, linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The keys of local mode, one file each in `<data folder>/keys`, readable by their owner alone.
 * `data.key` wraps the keys that seal people's text: without it that text is lost, so it is created
 * once and never overwritten.
 */
export type LocalKeys = { dataKey: Buffer; jwtKey: Buffer };

/**
 * Reads the keys of a data folder (absolute path), creating what is missing. 32 bytes each.
 *
 * @throws Error whose message names the folder or the file
 */
export function localKeys(dataDir: string): LocalKeys {
  const directory = join(dataDir, 'keys');
  // Apart, because a recursive mkdir gives its mode to the parents, too, and the embedded Postgres may
  // run as another user who has to pass through the data folder.
  mkdirSync(dataDir, { recursive: true });
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  chmodSync(directory, 0o700);
  return {
    dataKey: readOrCreate(join(directory, 'data.key')),
    jwtKey: readOrCreate(join(directory, 'jwt.key')),
  };
}

function readOrCreate(path: string): Buffer {
  return readKey(path) ?? createKey(path);
}

function readKey(path: string): Buffer | null {
  try {
    const key = Buffer.from(readFileSync(path, 'utf8').trim(), 'base64');
    if (key.length === 32) return key;
    throw new Error(`${path} must hold 32 bytes in base64; restore it from a backup`);
  } catch (error) {
    if (isCode(error, 'ENOENT')) return null;
    throw error;
  }
}

/**
 * Two processes may start on a fresh folder at once. A link appears with its whole content or not at
 * all and fails when the name exists, so both end up with the key of whoever was first.
 */
function createKey(path: string): Buffer {
  const key = randomBytes(32);
  const draft = `${path}.${process.pid}.draft`;
  writeFileSync(draft, `${key.toString('base64')}\n`, { mode: 0o600 });
  try {
    linkSync(draft, path);
    return key;
  } catch (error) {
    if (!isCode(error, 'EEXIST')) throw error;
    const theirs = readKey(path);
    if (theirs === null) throw error;
    return theirs;
  } finally {
    rmSync(draft, { force: true });
  }
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
