import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { roles, type Cluster } from '#db/embedded/cluster.ts';
import type { Backup } from './backups.ts';
import { BackupError } from './base-backup.ts';
import { copyFile, forEachFile, ownFolder, syncFolder } from './files.ts';

/**
 * Copies a backup to a folder from which Postgres can be started, and checks each file on the way.
 *
 * @throws BackupError for the first file that differs from the manifest
 */
export async function layOut(
  { folder, manifest }: Backup,
  target: string,
  owner: Cluster['runAs'],
): Promise<void> {
  const source = join(folder, 'postgres');
  await mkdir(target, { mode: 0o700 });
  try {
    for (const path of manifest.folders) {
      await mkdir(join(target, path), { mode: 0o700 });
      await ownFolder(join(target, path), owner);
    }
    await forEachFile(manifest.files, async ({ path, bytes, sha256 }) => {
      const copy = await copyFile(join(source, path), join(target, path), owner);
      if (copy?.sha256 === sha256 && copy.bytes === bytes) return;
      const fault = copy === null ? 'is missing' : 'differs from the manifest';
      throw new BackupError(`The backup ${manifest.name} is damaged: ${path} ${fault}`);
    });
    for (const path of manifest.folders.toReversed()) await syncFolder(join(target, path));
    await ownFolder(target, owner);
    await syncFolder(target);
  } catch (error) {
    await rm(target, { recursive: true, force: true });
    throw error;
  }
}

/**
 * Gives the roles of a copy the passwords of the cluster's folder, in which the backup has none. Postgres
 * runs as a single user, without a port. It first applies the log of the backup: a copy that lacks a part
 * of it does not start.
 *
 * @throws BackupError
 */
export async function openCopy({ binaries, folders, runAs, passwords }: Cluster): Promise<void> {
  const names = Object.keys(roles) as (keyof typeof roles)[];
  const statements = names.map((name) => `alter role ${roles[name]} password '${passwords[name]}'`);
  const child = spawn(
    binaries.postgres,
    ['--single', '-D', folders.cluster, '-c', 'log_min_messages=log', 'postgres'],
    {
      ...runAs,
      cwd: '/',
      stdio: ['pipe', 'ignore', 'pipe'],
      env: { ...process.env, LC_ALL: 'C' },
    },
  );
  // It ends early when it cannot start.
  child.stdin.on('error', () => undefined);
  child.stdin.end(`${statements.join('\n')}\n`);
  const [output, [code]] = await Promise.all([
    text(child.stderr),
    once(child, 'close') as Promise<[number | null]>,
  ]);
  if (code !== 0)
    throw new BackupError(
      `Postgres did not start on the copy in ${folders.cluster}: ${reasonIn(output)}`,
    );
}

function reasonIn(output: string): string {
  const lines = output.trim().split('\n');
  const fatal = lines.findLast((line) => /(FATAL|PANIC): /.test(line)) ?? lines.at(-1) ?? 'nothing';
  return fatal.replace(/^.*(FATAL|PANIC): +/, '');
}
