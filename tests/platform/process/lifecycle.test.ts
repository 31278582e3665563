import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, test } from 'vitest';

test('a process that is stopped while it opens closes everything that it has opened', async () => {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'lifecycle-process.ts')], {
    env: { PATH: process.env['PATH'] },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  const lines: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line);
    if (line === 'opening') child.kill('SIGTERM');
  }
  expect(lines).toEqual(['opening', 'second closed', 'first closed']);
  expect(await ended).toEqual([0, null]);
});
