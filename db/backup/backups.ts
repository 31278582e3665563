import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import * as v from 'valibot';
import type { Cluster } from '#db/embedded/cluster.ts';
import { BackupError, takeBaseBackup } from './base-backup.ts';
import { isMissing, syncFolder, writeSynced } from './files.ts';

/** A path that does not lead out of its folder. */
const Inside = v.pipe(
  v.string(),
  v.check((path) => path.split('/').every((part) => !['', '.', '..'].includes(part))),
);

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
  folders: v.array(Inside),
  files: v.array(v.object({ path: Inside, bytes: v.number(), sha256: v.string() })),
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
  const name = nameOf(now.toISOString());
  const folder = join(into, name);
  const draft = `${folder}${partialEnding}`;
  try {
    await mkdir(into, { recursive: true, mode: 0o700 });
    await mkdir(draft, { mode: 0o700 });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new BackupError(`No backup can be written into ${into}: ${reason}`, { cause: error });
  }
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

/**
 * Deletes backups of this database that may no longer be kept, and what is left of one whose making or
 * deleting was interrupted more than a day ago. Returns their names.
 */
export async function removeOutdated(
  into: string,
  newest: Manifest,
  days: number,
): Promise<string[]> {
  const { backups, unusable } = await listBackups(into);
  const daysBefore = (count: number) =>
    new Date(Date.parse(newest.created_at) - count * 86_400_000).toISOString();
  const outdated = backups.filter(
    ({ manifest }) =>
      manifest.system_id === newest.system_id && manifest.created_at < daysBefore(days),
  );
  // Without its manifest it is no backup, whatever else is left of it.
  for (const { folder } of outdated) await rm(join(folder, manifestName));
  const abandoned = unusable.filter(
    (folder) => basename(folder) < nameOf(daysBefore(1)) && !existsSync(join(folder, manifestName)),
  );
  const removed = [...outdated.map(({ folder }) => folder), ...abandoned];
  for (const folder of removed) await rm(folder, { recursive: true });
  return removed.map((folder) => basename(folder));
}

function nameOf(time: string): string {
  return time.replaceAll(':', '-');
}
