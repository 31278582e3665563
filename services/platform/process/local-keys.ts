import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';

/**
 * The keys of local mode, one file per kind in `<data folder>/keys`, readable by their owner alone. A line is
 * a key, the newest first: it is in use, and the others still open or verify what they wrapped or signed.
 * Without `data.key` all sealed text is lost, so only a rotation overwrites it.
 */
export type LocalKeyKind = 'data' | 'jwt';
export type LocalKeys = Readonly<Record<LocalKeyKind, readonly Buffer[]>>;

/**
 * Reads the keys of a data folder (absolute path), creating what is missing. 32 bytes each.
 *
 * @throws Error whose message names the folder or the file
 */
export function localKeys(dataDir: string): LocalKeys {
  const directory = join(dataDir, 'keys');
  // Two calls, because a recursive mkdir sets the mode of the parents, too, and Postgres may run as another
  // user who has to enter the data folder.
  mkdirSync(dataDir, { recursive: true });
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  chmodSync(directory, 0o700);
  return {
    data: readOrCreate(localKeyFile(dataDir, 'data')),
    jwt: readOrCreate(localKeyFile(dataDir, 'jwt')),
  };
}

/** Replaces the keys of one kind, newest first; a crash leaves either the old file or the new one. */
export function replaceLocalKeys(
  dataDir: string,
  kind: LocalKeyKind,
  keys: readonly Buffer[],
): void {
  const path = localKeyFile(dataDir, kind);
  renameSync(writeDraft(path, keys), path);
  syncFolder(join(dataDir, 'keys'));
}

export function localKeyFile(dataDir: string, kind: LocalKeyKind): string {
  return join(dataDir, 'keys', `${kind}.key`);
}

function readOrCreate(path: string): readonly Buffer[] {
  return readKeys(path) ?? createKeys(path);
}

function readKeys(path: string): readonly Buffer[] | null {
  try {
    const lines = readFileSync(path, 'utf8')
      .trim()
      .split(/\s*\n\s*/);
    const keys = lines.map((line) => Buffer.from(line, 'base64'));
    if (keys.every((key) => key.length === 32)) return keys;
    throw new Error(`${path} must hold 32 bytes in base64 a line; restore it from a backup`);
  } catch (error) {
    if (isCode(error, 'ENOENT')) return null;
    throw error;
  }
}

/**
 * Two processes may start on a fresh folder at once. A link appears with its whole content or not at
 * all and fails when the name exists, so both use the key of the first.
 */
function createKeys(path: string): readonly Buffer[] {
  const keys = [randomBytes(32)];
  const draft = writeDraft(path, keys);
  try {
    linkSync(draft, path);
    return keys;
  } catch (error) {
    if (!isCode(error, 'EEXIST')) throw error;
    const theirs = readKeys(path);
    if (theirs === null) throw error;
    return theirs;
  } finally {
    rmSync(draft, { force: true });
  }
}

/** On disk before a key is used. */
function writeDraft(path: string, keys: readonly Buffer[]): string {
  const draft = `${path}.${process.pid}.draft`;
  rmSync(draft, { force: true });
  const file = openSync(draft, 'wx', 0o600);
  try {
    writeSync(file, keys.map((key) => `${key.toString('base64')}\n`).join(''));
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  return draft;
}

/** Puts the folder's entries on disk. */
function syncFolder(path: string): void {
  const file = openSync(path, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
