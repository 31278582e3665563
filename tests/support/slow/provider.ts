import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';

/** A call as the provider saw it. */
export type SeenCall = { model: string; outputTokens: number; milliseconds: number };

/**
 * An Ollama on a small computer: it has the simulator's answers and streams them at the pace of a
 * model. It takes every call at once; `mostAtOnce` shows how many there were.
 */
export type SlowProvider = {
  url: string;
  /** The origin of the provider sandbox that has the answers. */
  answersFrom(sandboxUrl: string): void;
  calls: SeenCall[];
  mostAtOnce(): number;
  close(): Promise<void>;
};

export async function startSlowProvider(settings: {
  /** Infinity does not wait. */
  tokensPerSecond: number;
  /** How many models are installed; 1 when absent. */
  models?: number;
}): Promise<SlowProvider> {
  const calls: SeenCall[] = [];
  let sandboxUrl = '';
  let underWay = 0;
  let most = 0;
  const forwarded = async (request: IncomingMessage, body: string) =>
    fetch(`${sandboxUrl}${request.url ?? ''}`, {
      method: request.method ?? 'GET',
      headers: { 'content-type': 'application/json' },
      ...(body === '' ? {} : { body }),
    });
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    if (request.url !== '/ollama/api/chat') {
      const reply = await forwarded(request, await text(request));
      response.writeHead(reply.status, { 'content-type': 'application/json' });
      response.end(withModels(await reply.text(), settings.models ?? 1));
      return;
    }
    underWay += 1;
    most = Math.max(most, underWay);
    const began = performance.now();
    try {
      const body = await text(request);
      const reply = await forwarded(request, body);
      const answered = await reply.text();
      const outputTokens = outputTokensOf(answered);
      response.writeHead(reply.status, { 'content-type': reply.headers.get('content-type') ?? '' });
      await streamed(response, answered, (1000 * outputTokens) / settings.tokensPerSecond);
      const { model } = JSON.parse(body) as { model: string };
      calls.push({ model, outputTokens, milliseconds: performance.now() - began });
    } finally {
      underWay -= 1;
    }
  };
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('No port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    answersFrom(url) {
      sandboxUrl = url;
    },
    calls,
    mostAtOnce: () => most,
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

function outputTokensOf(stream: string): number {
  return Number(/"eval_count":(\d+)/.exec(stream)?.[1] ?? 0);
}

/** The lines of a stream, spread over so many milliseconds. */
/** The list of models with its first ones alone; anything else as it is. */
function withModels(body: string, count: number): string {
  const list = JSON.parse(body) as { models?: unknown[] };
  return list.models === undefined ? body : JSON.stringify({ models: list.models.slice(0, count) });
}

async function streamed(response: ServerResponse, stream: string, ms: number): Promise<void> {
  const lines = stream.split(/(?<=\n)/);
  const began = performance.now();
  for (const [index, line] of lines.entries()) {
    await sleep(Math.max(0, began + (ms * (index + 1)) / lines.length - performance.now()));
    if (response.destroyed) throw new Error('The caller has gone');
    response.write(line);
  }
  response.end();
}
