import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import * as v from 'valibot';
import type { Cluster } from '#db/embedded/cluster.ts';
import { BackupError, takeBaseBackup } from './base-backup.ts';
import { isMissing, syncFolder, writeSynced } from './files.ts';

/**
 * A folder of backups. Each is a folder with the copy (`postgres`) and its manifest, which is written last,
 * under a name that shows nothing unfinished: `….partial` until then.
 */
const Manifest = v.object({
  format: v.literal(1),
  name: v.string(),
  /** When the copy is consistent. */
  created_at: v.pipe(v.string(), v.isoTimestamp()),
  /** Version of the application. */
  software: v.string(),
  /** Major version of Postgres. */
  postgres: v.string(),
  system_id: v.string(),
  timeline: v.number(),
  log: v.object({ from: v.string(), to: v.string() }),
  bytes: v.number(),
  folders: v.array(v.string()),
  files: v.array(v.object({ path: v.string(), bytes: v.number(), sha256: v.string() })),
});
export type Manifest = v.InferOutput<typeof Manifest>;

export type Backup = { folder: string; manifest: Manifest };

const partialEnding = '.partial';
const manifestName = 'manifest.json';

/** @throws BackupError */
export async function createBackup(options: {
  cluster: Cluster;
  port: number;
  /** The folder of backups. */
  into: string;
  software: string;
  now: Date;
}): Promise<Backup> {
  const { cluster, port, into, software, now } = options;
  const name = now.toISOString().replaceAll(':', '-');
  const folder = join(into, name);
  const draft = `${folder}${partialEnding}`;
  await mkdir(into, { recursive: true, mode: 0o700 });
  await mkdir(draft, { mode: 0o700 });
  try {
    const copy = await takeBaseBackup(cluster, port, join(draft, 'postgres'));
    const manifest: Manifest = {
      format: 1,
      name,
      created_at: copy.at.toISOString(),
      software,
      postgres: await versionOf(cluster),
      system_id: copy.systemId,
      timeline: copy.timeline,
      log: copy.log,
      bytes: copy.files.reduce((sum, { bytes }) => sum + bytes, 0),
      folders: copy.folders,
      files: copy.files.toSorted((left, right) => (left.path < right.path ? -1 : 1)),
    };
    await writeSynced(join(draft, manifestName), `${JSON.stringify(manifest)}\n`);
    await syncFolder(draft);
    await rename(draft, folder);
    await syncFolder(into);
    return { folder, manifest };
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    throw error;
  }
}

async function versionOf({ folders }: Cluster): Promise<string> {
  return (await readFile(join(folders.cluster, 'PG_VERSION'), 'utf8')).trim();
}

/** @throws BackupError when there is no complete backup in this folder */
export async function readBackup(folder: string): Promise<Backup> {
  try {
    const text = await readFile(join(folder, manifestName), 'utf8');
    return { folder, manifest: v.parse(Manifest, JSON.parse(text)) };
  } catch (error) {
    const reason = isMissing(error) ? 'has no manifest' : 'has an unreadable manifest';
    throw new BackupError(`There is no complete backup in ${folder}: it ${reason}`, {
      cause: error,
    });
  }
}

export type Listed = {
  /** Newest first. */
  backups: Backup[];
  /** Folders of backups that were interrupted, or whose manifest cannot be read. */
  unusable: string[];
};

export async function listBackups(into: string): Promise<Listed> {
  const listed: Listed = { backups: [], unusable: [] };
  if (!existsSync(into)) return listed;
  const entries = await readdir(into, { withFileTypes: true });
  for (const { name } of entries.filter((entry) => entry.isDirectory())) {
    const folder = join(into, name);
    if (!/^\d{4}-\d\d-\d\dT/.test(name)) continue;
    const backup = name.endsWith(partialEnding) ? null : await readBackup(folder).catch(() => null);
    if (backup === null) listed.unusable.push(folder);
    else listed.backups.push(backup);
  }
  listed.backups.sort((left, right) =>
    left.manifest.created_at < right.manifest.created_at ? 1 : -1,
  );
  return listed;
}

/** Deletes backups of this database that may no longer be kept. Returns their names. */
export async function removeOutdated(
  into: string,
  newest: Manifest,
  days: number,
): Promise<string[]> {
  const { backups } = await listBackups(into);
  const before = new Date(Date.parse(newest.created_at) - days * 86_400_000).toISOString();
  const outdated = backups.filter(
    ({ manifest }) => manifest.system_id === newest.system_id && manifest.created_at < before,
  );
  for (const { folder } of outdated) {
    // Without its manifest it is no backup, whatever else is left of it.
    await rm(join(folder, manifestName));
    await rm(folder, { recursive: true });
  }
  return outdated.map(({ manifest }) => manifest.name);
}
