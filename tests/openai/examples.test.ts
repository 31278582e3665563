import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import type { Server } from 'node:http';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createHttpServer, listen, stopListening } from '#services/platform/process/listen.ts';
import { createTestCouncil } from '#tests/support/council.ts';
import type { TestCouncil } from '#tests/support/council.ts';
import { give } from '#tests/support/processes/service.ts';

/** The examples of `docs/programs.md`, as a reader would run them. */
const run = promisify(execFile);
const text = await readFile(new URL('../../docs/programs.md', import.meta.url), 'utf8');
const blocks = (language: string) =>
  [...text.matchAll(/^```(\w+)\n(.*?)^```$/gms)].flatMap(([, name, code = '']) =>
    name === language ? [code] : [],
  );

let app: TestCouncil;
let server: Server;
let environment: Record<string, string>;

beforeAll(async () => {
  app = await createTestCouncil();
  server = createHttpServer(app.app.fetch);
  const url = await listen(server, { host: '127.0.0.1', port: 0 });
  const { token, userId } = await app.signUp();
  await give(app, userId, 1_000);
  const { key } = await app.data<{ key: string }>('/api-keys', {
    token,
    body: { name: 'Examples', scopes: ['run', 'read', 'credits:read'], monthly_cap: 1_000 },
  });
  environment = { SEVENFOLD_URL: url, SEVENFOLD_KEY: key, PATH: process.env['PATH'] ?? '' };
});
afterAll(async () => {
  await stopListening(server);
  await app.close();
});

const outputs = [
  /^\{"data":\[\],"pagination":\{"page":1,"limit":1/,
  /^# Should I raise prices by 10%\?\n[^]*simulated[^]*(?:Recommended by|No majority|Best single answer)/i,
  /"object":"list","data":\[\{"id":"ultra-economy"/,
  /^ *\{"id":"chatcmpl-opt_.*"content":"> .*simulated/i,
];

test('there is an expected output for each example', () => {
  expect(blocks('sh')).toHaveLength(outputs.length);
});

test.each(blocks('sh').map((code, index) => [index, code] as const))(
  'example %i of curl does what the page says',
  async (index, code) => {
    const { stdout, stderr } = await run('sh', ['-euc', code.replaceAll('curl "', 'curl -sS "')], {
      env: environment,
    });
    expect(stderr).toBe('');
    expect(stdout).toMatch(outputs[index] ?? /^$/);
  },
);

test('the example of the official client prints a recommendation', async () => {
  const [code = ''] = blocks('js');
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', code], {
    env: environment,
    cwd: new URL('../..', import.meta.url),
  });
  expect(stdout).toMatch(/^> .*simulated/i);
});
