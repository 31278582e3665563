import { spawn } from 'node:child_process';
import type { ChildProcess, StdioOptions } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, test } from 'vitest';

function open(channel: 'ipc' | 'ignore'): ChildProcess {
  const stdio: StdioOptions = ['ignore', 'pipe', 'inherit', channel];
  return spawn(process.execPath, [join(import.meta.dirname, 'lifecycle-process.ts')], {
    env: { PATH: process.env['PATH'] },
    stdio,
  });
}

/** What it prints, each line after `heard`, and how it ends. */
async function follow(child: ChildProcess, heard: (line: string) => void) {
  const ended = once(child, 'exit');
  const lines: string[] = [];
  for await (const line of createInterface({ input: child.stdout! })) {
    lines.push(line);
    heard(line);
  }
  return { lines, ended: await ended };
}

const everything = { lines: ['opening', 'second closed', 'first closed'], ended: [0, null] };

test('a process that is stopped while it opens closes everything that it has opened', async () => {
  const child = open('ignore');
  expect(await follow(child, (line) => void (line === 'opening' && child.kill()))).toEqual(
    everything,
  );
});

test('a process whose supervisor is gone when it is ready closes what it has opened', async () => {
  expect(await follow(open('ipc'), () => undefined)).toEqual(everything);
});
