import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type pg from 'pg';
import { connect, type Cluster } from '#db/embedded/cluster.ts';
import {
  copyFile,
  forEachFile,
  readTree,
  syncFolder,
  writeSynced,
  type CopiedFile,
} from './files.ts';

/**
 * A copy of a running server's folder. Files change while they are copied; the log of the interval between
 * `pg_backup_start` and `pg_backup_stop` makes the copy whole when Postgres starts on it. The embedded
 * binaries have no `pg_basebackup`, which does the same.
 */
export type BaseBackup = {
  systemId: string;
  timeline: number;
  /** First and last segment of the log. */
  log: { from: string; to: string };
  /** When the copy is consistent: everything committed before is in it. */
  at: Date;
  folders: string[];
  files: CopiedFile[];
};

/** A copy that cannot be made or used; the message says why. */
export class BackupError extends Error {
  override readonly name = 'BackupError';
}

/** `target` must not exist. @throws BackupError */
export async function takeBaseBackup(
  cluster: Cluster,
  port: number,
  target: string,
): Promise<BaseBackup> {
  const client = await connect(cluster, port);
  try {
    const systemId = await checkedServer(client);
    // Keeps the log until it is copied. It ends with the session, and so does an unfinished backup.
    await client.query(
      `select pg_create_physical_replication_slot($1, immediately_reserve => true, temporary => true)`,
      [`backup_${process.pid}`],
    );
    await client.query('select pg_backup_start($1, fast => true)', ['sevenfold']);
    const source = cluster.folders.cluster;
    const { folders, files } = await copyTree(source, target);
    const { label, map, ...end } = await stopBackup(client);
    if (map !== '') throw new BackupError('A tablespace outside the data folder is not copied');
    files.push({
      path: 'backup_label',
      ...(await writeSynced(join(target, 'backup_label'), label)),
    });
    const from = /^START WAL LOCATION: \S+ \(file ([0-9A-F]{24})\)$/m.exec(label)?.[1] ?? '';
    files.push(...(await copyLog(source, target, { from, to: end.to })));
    for (const folder of folders.toReversed()) await syncFolder(join(target, folder));
    await syncFolder(target);
    const timeline = Number.parseInt(from.slice(0, 8), 16);
    return { systemId, timeline, log: { from, to: end.to }, at: end.at, folders, files };
  } catch (error) {
    await rm(target, { recursive: true, force: true });
    throw error;
  } finally {
    await client.end();
  }
}

async function checkedServer(client: pg.Client): Promise<string> {
  const { rows } = await client.query<{ id: string; standby: boolean }>(
    `select system_identifier::text as id, pg_is_in_recovery() as standby from pg_control_system()`,
  );
  if (rows[0]?.standby !== false) throw new BackupError('This server is a standby');
  return rows[0].id;
}

type BackupEnd = { label: string; map: string; to: string; at: Date };

/** In the session of the start. The log is switched, so its last segment is complete on disk. */
async function stopBackup(client: pg.Client): Promise<BackupEnd> {
  const { rows } = await client.query<BackupEnd>(
    `select labelfile as label, spcmapfile as map, pg_walfile_name(lsn - 1) as to,
       clock_timestamp() as at
     from pg_backup_stop(wait_for_archive => false)`,
  );
  return rows[0]!;
}

// --- files ---

/** Postgres creates the contents of these folders when it starts. */
const emptied = /^(pg_(wal|dynshmem|notify|replslot|serial|snapshots|stat_tmp|subtrans))\//;

/**
 * What belongs to the running process, or is rebuilt. A standby's signal must not make a restored server
 * a standby.
 */
const leftOut =
  /^(postmaster\.(pid|opts)|backup_label(\.old)?|tablespace_map(\.old)?|(standby|recovery)\.signal|current_logfiles(\.tmp)?|postgresql\.auto\.conf\.tmp|backup_manifest)$/;
const temporary = /(^|\/)(pgsql_tmp[^/]*|pg_internal\.init[^/]*)(\/|$)/;

function isLeftOut(path: string): boolean {
  return emptied.test(path) || leftOut.test(path) || temporary.test(path);
}

/** It changes at each checkpoint; `copyFile` could read half of an old and half of a new one. */
const control = 'global/pg_control';

async function copyTree(
  source: string,
  target: string,
): Promise<{ folders: string[]; files: CopiedFile[] }> {
  const { folders, files } = await readTree(source, isLeftOut);
  await mkdir(target, { mode: 0o700 });
  for (const folder of folders) await mkdir(join(target, folder), { mode: 0o700 });
  const copied: CopiedFile[] = [];
  await forEachFile(
    files.filter((path) => path !== control),
    async (path) => {
      const copy = await copyFile(join(source, path), join(target, path));
      if (copy !== null) copied.push({ path, ...copy });
    },
  );
  copied.push(await copyControl(source, target));
  return { folders, files: copied };
}

/** Until two copies in a row are equal. */
async function copyControl(source: string, target: string): Promise<CopiedFile> {
  let before = '';
  for (let tries = 0; tries < 20; tries += 1) {
    await rm(join(target, control), { force: true });
    const copy = await copyFile(join(source, control), join(target, control));
    if (copy !== null && copy.sha256 === before) return { path: control, ...copy };
    before = copy?.sha256 ?? '';
  }
  throw new BackupError(`${control} changed with each reading`);
}

/** The segments of the interval, and the histories of earlier timelines. */
async function copyLog(
  source: string,
  target: string,
  { from, to }: { from: string; to: string },
): Promise<CopiedFile[]> {
  const { files } = await readTree(join(source, 'pg_wal'), (path) => path.includes('/'));
  const segments = files.filter((name) => isSegment(name) && name >= from && name <= to);
  const needed = segmentNumber(to) - segmentNumber(from) + 1;
  if (!isSegment(from) || segments.length !== needed)
    throw new BackupError(`Of the log, ${segments.length} of ${needed} segments are there`);
  const histories = files.filter((name) => /^[0-9A-F]{8}\.history$/.test(name));
  const copied: CopiedFile[] = [];
  for (const name of [...histories, ...segments]) {
    const path = `pg_wal/${name}`;
    const copy = await copyFile(join(source, path), join(target, path));
    if (copy === null) throw new BackupError(`${path} was removed before it was copied`);
    copied.push({ path, ...copy });
  }
  return copied;
}

const isSegment = (name: string): boolean => /^[0-9A-F]{24}$/.test(name);

/** Of segments of 16 MB: 256 of them have the same middle part. */
function segmentNumber(name: string): number {
  return Number.parseInt(name.slice(8, 16), 16) * 256 + Number.parseInt(name.slice(16), 16);
}
