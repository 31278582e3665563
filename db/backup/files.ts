import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { chown, open, readdir } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import pLimit from 'p-limit';

/** Copies of files with checksums, on disk when they are called complete. */
export type CopiedFile = {
  /** From the copied folder, with `/`. */
  path: string;
  bytes: number;
  sha256: string;
};

export type UserIds = { uid: number; gid: number };

/** Files copied at a time: each waits for the disk most of the time. */
const atOnce = 8;
const chunkBytes = 1_048_576;

/** Null when the source is gone: Postgres removes files while it runs. */
export async function copyFile(
  from: string,
  to: string,
  owner: UserIds | null = null,
): Promise<Omit<CopiedFile, 'path'> | null> {
  const source = await openIfThere(from);
  if (source === null) return null;
  try {
    const target = await open(to, 'wx', 0o600);
    try {
      const copied = await pour(source, target);
      if (owner !== null) await target.chown(owner.uid, owner.gid);
      await target.sync();
      return copied;
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
  }
}

async function openIfThere(path: string): Promise<FileHandle | null> {
  try {
    return await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}

async function pour(source: FileHandle, target: FileHandle): Promise<Omit<CopiedFile, 'path'>> {
  const hash = createHash('sha256');
  const buffer = Buffer.alloc(chunkBytes);
  let bytes = 0;
  for (;;) {
    const { bytesRead } = await source.read(buffer, 0, chunkBytes);
    if (bytesRead === 0) return { bytes, sha256: hash.digest('hex') };
    const chunk = buffer.subarray(0, bytesRead);
    hash.update(chunk);
    await target.writeFile(chunk);
    bytes += bytesRead;
  }
}

/** A file with this text. */
export async function writeSynced(path: string, text: string): Promise<Omit<CopiedFile, 'path'>> {
  const file = await open(path, 'wx', 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  const sha256 = createHash('sha256').update(text).digest('hex');
  return { bytes: Buffer.byteLength(text), sha256 };
}

/** Puts a folder's entries on disk. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

export async function ownFolder(path: string, owner: UserIds | null): Promise<void> {
  if (owner !== null) await chown(path, owner.uid, owner.gid);
}

/** Begins none after the first error, and throws it when none is under way: what was copied can be removed. */
export async function forEachFile<Item>(
  items: readonly Item[],
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const errors: unknown[] = [];
  await pLimit(atOnce).map(items, async (item) => {
    if (errors.length > 0) return;
    await work(item).catch((error: unknown) => errors.push(error));
  });
  if (errors.length > 0) throw errors[0];
}

export type Tree = { folders: string[]; files: string[] };

/**
 * The paths below a folder, without those that `skips` names; each folder stands before what it holds.
 * A folder that is removed meanwhile is empty. @throws for a link, which a copy would not hold
 */
export async function readTree(root: string, skips: (path: string) => boolean): Promise<Tree> {
  const tree: Tree = { folders: [], files: [] };
  const pending = [''];
  for (let folder = pending.shift(); folder !== undefined; folder = pending.shift())
    for (const entry of await entriesOf(join(root, folder))) {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
      if (skips(path)) continue;
      if (entry.isDirectory()) {
        tree.folders.push(path);
        pending.push(path);
      } else if (entry.isFile()) tree.files.push(path);
      else throw new Error(`${join(root, path)} is neither a file nor a folder`);
    }
  return tree;
}

async function entriesOf(folder: string) {
  try {
    return await readdir(folder, { withFileTypes: true });
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

export function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}
