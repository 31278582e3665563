import { createServer } from 'node:http';
import type { RequestListener } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { findLocalServers } from '#services/models/local-servers.ts';
import { listen } from '#services/platform/process/listen.ts';

const nothing = { ollamaUrl: null, endpointUrls: [] };

async function serving(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return listen(server, { host: '127.0.0.1', port: 0 });
}

const answering =
  (path: string, body: unknown): RequestListener =>
  (request, response) => {
    response.statusCode = request.url === path ? 200 : 404;
    response.end(JSON.stringify(body));
  };

test('a local Ollama and LM Studio are named with the line that uses them', async () => {
  const ollama = await serving(
    answering('/api/tags', { models: [{ name: 'gemma3:12b' }, { name: 'qwen3:8b' }] }),
  );
  const lmStudio = await serving(
    answering('/v1/models', {
      data: [{ id: 'qwen3-8b' }, { id: 'text-embedding-nomic' }, { id: 'odd|name' }],
    }),
  );
  expect(await findLocalServers(nothing, { ollama, lmStudio })).toEqual([
    {
      found: `Ollama at ${ollama} with 2 models: gemma3:12b, qwen3:8b`,
      line: `OLLAMA_URL=${ollama}`,
    },
    {
      found: `An OpenAI-compatible server at ${lmStudio} with 1 model: qwen3-8b`,
      line: `OPENAI_COMPATIBLE_ENDPOINTS=lm-studio|${lmStudio}/v1||qwen3-8b`,
    },
  ]);
});

test('no name that a local server gives itself reaches the terminal unless it is plain', async () => {
  const odd = ['esc\u001b[2J', 'a\u202eb', 'line\nMODE=local', 'a'.repeat(201)];
  const ollama = await serving(
    answering('/api/tags', { models: [...odd, 'plain'].map((name) => ({ name })) }),
  );
  const lmStudio = await serving(
    answering('/v1/models', { data: [...odd, 'plain'].map((id) => ({ id })) }),
  );
  expect(await findLocalServers(nothing, { ollama, lmStudio })).toEqual([
    { found: `Ollama at ${ollama} with 1 model: plain`, line: `OLLAMA_URL=${ollama}` },
    {
      found: `An OpenAI-compatible server at ${lmStudio} with 1 model: plain`,
      line: `OPENAI_COMPATIBLE_ENDPOINTS=lm-studio|${lmStudio}/v1||plain`,
    },
  ]);
});

test('a server that a setting names already is not suggested', async () => {
  const ollama = await serving(answering('/api/tags', { models: [] }));
  const lmStudio = await serving(answering('/v1/models', { data: [{ id: 'qwen3-8b' }] }));
  const configured = {
    ollamaUrl: ollama.replace('127.0.0.1', 'localhost'),
    endpointUrls: [`${lmStudio}/v1`],
  };
  expect(await findLocalServers(configured, { ollama, lmStudio })).toEqual([]);
});

test.each<[string, RequestListener]>([
  ['another program', (_request, response) => response.end('<html>')],
  ['a redirect', (_request, response) => response.writeHead(302, { location: '/' }).end()],
  ['a server that never answers', () => undefined],
])('%s on the port is not taken for a model server', async (_what, listener) => {
  const origin = await serving(listener);
  const origins = { ollama: origin, lmStudio: origin };
  expect(await findLocalServers(nothing, origins)).toEqual([]);
});
