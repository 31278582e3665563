import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';

/**
 * A proxy before the sandbox that holds back whole answers, so that a test decides when they arrive: many at
 * the same moment, or after the requesting process has stopped.
 */
export type Gate = AsyncDisposable & {
  url: string;
  /** Answers that are there and held back. */
  waiting(): number;
  /** Requests so far. */
  requests(): number;
  /** Hands over all that wait, in one turn of the event loop. */
  release(): void;
};

/**
 * Answers are released in the groups of `together`: each group when its last answer is there, or, if its
 * size is `hold`, by `release`. Answers after the last group pass at once.
 */
export async function startGate(
  sandboxUrl: string,
  together: readonly (number | 'hold')[],
): Promise<Gate> {
  const groups = [...together];
  let held: (() => void)[] = [];
  let requests = 0;

  const release = () => {
    groups.shift();
    const answers = held;
    held = [];
    for (const answer of answers) answer();
  };
  const server = createServer((request, response) => {
    requests += 1;
    void hold(request, response);
  });
  const hold = async (request: IncomingMessage, response: ServerResponse) => {
    try {
      const answer = await forward(sandboxUrl, request, response);
      held.push(answer);
      const size = groups[0] ?? 1;
      if (size !== 'hold' && held.length >= size) release();
    } catch (error) {
      response.destroy(error instanceof Error ? error : undefined);
    }
  };
  // A worker that was stopped finds its connections as it left them, not ended for want of requests.
  server.keepAliveTimeout = 300_000;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The gate has no port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    waiting: () => held.length,
    requests: () => requests,
    release,
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

/** Asks the sandbox and returns what hands its answer over. */
async function forward(
  sandboxUrl: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<() => void> {
  const headers = Object.entries(request.headers).flatMap(([name, value]) =>
    typeof value === 'string' && !connectionHeaders.has(name) ? [[name, value] as const] : [],
  );
  const reply = await fetch(`${sandboxUrl}${request.url ?? '/'}`, {
    method: request.method ?? 'GET',
    headers: Object.fromEntries(headers),
    body: await buffer(request),
  });
  const body = Buffer.from(await reply.arrayBuffer());
  const type = reply.headers.get('content-type') ?? 'application/json';
  return () => {
    response.writeHead(reply.status, { 'content-type': type });
    response.end(body);
  };
}

const connectionHeaders = new Set(['host', 'connection', 'content-length', 'transfer-encoding']);
