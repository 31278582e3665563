import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadSdks } from '#services/models/provider-list.ts';
import { loadCatalogue } from '#services/models/catalogue.ts';
import { modelRegistry } from '#services/models/registry.ts';
import { collect, requestTo } from '#tests/models/provider-cases.ts';

/** The sandbox as `npm start` runs it: a process with a channel, and the simulator of the product. */
const entry = join(import.meta.dirname, '../../services/sandbox/server.ts');

let directory: string;

beforeAll(async () => {
  // Loading an SDK takes seconds, which would count towards the first call.
  await loadSdks();
  directory = await mkdtemp(join(tmpdir(), 'sevenfold-sandbox-'));
});

afterAll(async () => {
  await rm(directory, { recursive: true, force: true });
});

function start(variables: Record<string, string>): ChildProcess {
  return fork(entry, {
    cwd: directory,
    env: { PATH: process.env['PATH'], DATA_DIR: directory, LOG_LEVEL: 'silent', ...variables },
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
}

/** By exit and the end of stderr: a child whose channel we closed emits no `close`. */
async function endOf(child: ChildProcess): Promise<{ code: number | null; errors: string }> {
  const exited = once(child, 'exit');
  const errors = child.stderr === null ? '' : await text(child.stderr);
  await exited;
  return { code: child.exitCode, errors };
}

const production = {
  MODE: 'production',
  DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none',
  DATA_KEY: Buffer.alloc(32, 1).toString('base64'),
  JWT_KEYS: Buffer.alloc(32, 2).toString('base64'),
  MAIL_FROM: 'Sevenfold <no-reply@example.com>',
  CONTACT_EMAIL: 'contact@example.com',
  PUBLIC_URL: 'https://example.com',
  ERASURE_LOG: '/none/erasures.ndjson',
};

describe('the sandbox process', () => {
  it('the sandbox process reports its address over the channel, answers there, and ends when the channel closes', async () => {
    const child = start({ SANDBOX_PROFILE: 'instant' });
    const ended = endOf(child);
    const [message] = (await once(child, 'message')) as [
      { type: string; details: { url: string } },
    ];
    expect(message.type).toBe('ready');
    const registry = modelRegistry(
      {
        mode: 'local',
        providerKeys: {},
        compatibleEndpoints: [],
        providerUrls: {},
        openrouterDataCollection: 'deny',
        ollamaUrl: null,
        ollamaMaxContext: 16_384,
        sandboxUrl: message.details.url,
      },
      loadCatalogue(null),
    );
    const models = {
      openai: 'gpt-6-luna',
      anthropic: 'claude-haiku-5-5',
      google: 'gemini-3.8-flash',
      mistral: 'mistral-large-4',
      openrouter: 'openai/gpt-6-luna',
      ollama: 'qwen3:8b',
    };
    for (const [name, model] of Object.entries(models)) {
      const provider = registry.provider(name, true);
      if (provider === null) throw new Error('No provider');
      const { reply } = await collect(provider, requestTo(model));
      expect(reply).toMatchObject({ finish: 'stop', answeredBy: model });
      expect(reply.text.length).toBeGreaterThan(0);
    }
    child.disconnect();
    expect(await ended).toEqual({ code: 0, errors: '' });
  });

  it.each([
    ['MODE', { MODE: 'production' }],
    ['NODE_ENV', { MODE: '', NODE_ENV: 'production' }],
  ])('the sandbox process refuses to start in production, said by %s', async (_name, variables) => {
    const { code, errors } = await endOf(start({ ...production, ...variables }));
    expect(code).toBe(2);
    expect(errors).toBe('MODE must not be production: the sandbox serves local mode only\n');
  });

  it('the sandbox process names the variable of an unknown persona', async () => {
    const { code, errors } = await endOf(start({ SANDBOX_PERSONAS: 'gpt-6-luna=grumpy' }));
    expect(code).toBe(2);
    expect(errors).toContain('SANDBOX_PERSONAS');
    expect(errors).not.toContain('grumpy');
  });
});
