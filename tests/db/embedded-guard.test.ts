import { fileURLToPath } from 'node:url';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import {
  eventually,
  listProcesses,
  signal,
  temporaryFolder,
} from '#tests/support/processes/processes.ts';

/** The embedded Postgres after a kill of the process that started it. */
const holderFile = fileURLToPath(
  import.meta.resolve('#tests/support/processes/embedded-holder.ts'),
);
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

async function startHolder(unusedMs: number): Promise<ChildProcess> {
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
const guards = async () => ofFolder('embedded/guard.ts');

test('a Postgres whose only user was killed is stopped after a while, and its guard ends', async () => {
  await end(await startHolder(1_000), 'SIGKILL');
  const nothingRuns = async () => (await ofFolder('')).length === 0;
  await eventually('the end of Postgres and of its guard', nothingRuns, 60_000);
  await end(await startHolder(1_000), 'SIGTERM');
});

test(
  'a process that takes a folder over from a killed process keeps its Postgres',
  { tags: ['long'] },
  async () => {
    // Long enough for the heir on a slow machine; the first guard ends as soon as it sees it.
    await end(await startHolder(60_000), 'SIGKILL');
    const [before] = await postmasters();
    const heir = await startHolder(60_000);
    await eventually(
      'the end of the first guard',
      async () => (await guards()).length === 1,
      30_000,
    );
    expect((await postmasters()).map(({ pid }) => pid)).toEqual([before?.pid]);
    await end(heir, 'SIGTERM');
    expect(await ofFolder('')).toEqual([]);
  },
);
