import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { eventually, listProcesses, signal, temporaryFolder } from '#tests/support/processes.ts';

/** What becomes of the embedded Postgres when the process that started it is killed outright. */
const unusedMs = 1_000;
const holderFile = join(import.meta.dirname, '../support/embedded-holder.ts');
let folder: ReturnType<typeof temporaryFolder>;
const holders: ChildProcess[] = [];

beforeAll(() => {
  folder = temporaryFolder();
});
afterEach(async () => {
  for (const holder of holders.splice(0)) holder.kill('SIGKILL');
  for (const { pid } of await ofFolder('')) signal(pid, 'SIGKILL');
});
afterAll(() => folder.remove());

async function startHolder(): Promise<ChildProcess> {
  const child = spawn(process.execPath, [holderFile, folder.path, String(unusedMs)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  holders.push(child);
  await once(createInterface(child.stdout), 'line');
  return child;
}

async function end(holder: ChildProcess, name: NodeJS.Signals): Promise<void> {
  const exited = once(holder, 'exit');
  holder.kill(name);
  await exited;
}

async function ofFolder(words: string): Promise<{ pid: number }[]> {
  const all = await listProcesses();
  return all.filter(({ command }) => command.includes(folder.path) && command.includes(words));
}

const postmasters = async () => ofFolder('postgres -D');
const guards = async () => ofFolder('embedded-guard');

test('a Postgres whose only user was killed is stopped after a while, and its guard ends', async () => {
  await end(await startHolder(), 'SIGKILL');
  expect(await postmasters()).toHaveLength(1);
  const nothingRuns = async () => (await ofFolder('')).length === 0;
  await eventually('the end of Postgres and of its guard', nothingRuns, 20_000);
  await end(await startHolder(), 'SIGTERM');
});

test('a process that takes a folder over from a killed one keeps its Postgres', async () => {
  await end(await startHolder(), 'SIGKILL');
  const [before] = await postmasters();
  const heir = await startHolder();
  await eventually('the end of the first guard', async () => (await guards()).length === 1, 20_000);
  await sleep(2 * unusedMs);
  expect((await postmasters()).map(({ pid }) => pid)).toEqual([before?.pid]);
  expect(await guards()).toHaveLength(1);
  await end(heir, 'SIGTERM');
  expect(await ofFolder('')).toEqual([]);
});
