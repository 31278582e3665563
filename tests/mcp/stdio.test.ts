import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { text } from 'node:stream/consumers';
import { spawn } from 'node:child_process';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Balance } from '#services/credits/contract.ts';
import { temporaryFolder } from '#tests/support/processes/processes.ts';
import { variablesOf } from '#tests/support/variables.ts';
import { call, refusal, textOf } from './clients.ts';
import type { Era } from './clients.ts';

/** The official client starts the documented command, in a new folder and without a running application. */
const root = join(import.meta.dirname, '../..');
let folder: ReturnType<typeof temporaryFolder>;

beforeAll(() => {
  folder = temporaryFolder();
});
afterAll(() => folder.remove());

const settings = () => ({ DATA_DIR: join(folder.path, 'data'), SANDBOX_PROFILE: 'instant' });

/** What docs/programs.md says to write into the client's file. */
function documented(): { command: string; args: string[] } {
  const page = readFileSync(join(root, 'docs/programs.md'), 'utf8');
  const [, block = ''] = /```json\n([^`]*"command"[^`]*)```/.exec(page) ?? [];
  const { mcpServers } = JSON.parse(block.replaceAll('/path/to/sevenfold', root)) as {
    mcpServers: { sevenfold: { command: string; args: string[] } };
  };
  return mcpServers.sevenfold;
}

async function overStdio(
  { command, args, cwd }: { command: string; args: string[]; cwd: string },
  era: Era,
): Promise<{ client: Client; transport: StdioClientTransport; said: () => string }> {
  const env = Object.fromEntries(
    Object.entries(variablesOf(settings())).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value]],
    ),
  );
  const transport = new StdioClientTransport({
    command,
    args,
    env,
    cwd,
    stderr: 'pipe',
  });
  let said = '';
  transport.stderr?.on('data', (data: Buffer) => (said += data.toString()));
  const client = new Client(
    { name: 'test', version: '1.0.0' },
    { versionNegotiation: { mode: era } },
  );
  // What is no message of the protocol on stdout would arrive here.
  Object.assign(client, { onerror: (error: Error) => (said += `CLIENT: ${error.message}\n`) });
  await client.connect(transport, { timeout: 120_000 });
  return { client, transport, said: () => said };
}

type Begun = { run_id: string; price: number };

test('a whole run with the workers of the command alone', { timeout: 300_000 }, async () => {
  const { client, said } = await overStdio({ ...documented(), cwd: folder.path }, 'legacy');
  const question = { question: 'Should we raise prices by 10%?', strategy: 'fast' };
  const begun = await call<Begun>(client, 'ask', question, { timeout: 120_000 });
  const followed = await call(
    client,
    'follow',
    { run_id: begun.run_id, seconds: 200 },
    { timeout: 240_000 },
  );
  expect(followed).toMatchObject({ ended: true, status: 'completed' });
  const result = await client.callTool({ name: 'result', arguments: { run_id: begun.run_id } });
  expect(result.structuredContent).toMatchObject({
    simulated: true,
    decision: expect.any(String),
    credits: { price: begun.price, charged: begun.price },
  });
  expect(textOf(result)).toMatch(/^> Simulated/);
  const { available_credits: available } = await call<Balance>(client, 'balance');
  expect(available).toBe(100 - begun.price);
  expect(await refusal(client, 'result', { run_id: `opt_${'0'.repeat(26)}` })).toContain(
    'Code: not-found',
  );
  const closing = performance.now();
  await client.close();
  expect(performance.now() - closing).toBeLessThan(15_000);
  expect(said()).toContain('Serving demo@sevenfold.local.');
  expect(said()).toContain('No worker is running');
  expect(said()).not.toContain('CLIENT:');
});

test(
  'a client of the newer protocol, and Node without npm',
  { tags: ['long'], timeout: 300_000 },
  async () => {
    const args = [
      'services/start.mjs',
      'services/cli/main.ts',
      'mcp',
      '--as',
      'demo@sevenfold.local',
    ];
    const { client, said } = await overStdio(
      { command: process.execPath, args, cwd: root },
      'auto',
    );
    expect(client.getNegotiatedProtocolVersion()).toBe('2026-07-28');
    const { strategies } = await call<{ strategies: unknown[] }>(client, 'strategies');
    expect(strategies).not.toEqual([]);
    await client.close();
    expect(said()).not.toContain('CLIENT:');
  },
);

test('the command ends with 0 when its input ends, and prints nothing', async () => {
  const args = ['services/start.mjs', 'services/cli/main.ts', 'mcp'];
  const child = spawn(process.execPath, args, {
    cwd: root,
    env: variablesOf(settings()),
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
  expect(await text(child.stdout)).toBe('');
  expect(await ended).toBe(0);
});
