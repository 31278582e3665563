import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { ValiError } from 'valibot';
import type { Catalogue } from '#services/models/catalogue.ts';
import { anthropicMessages } from './anthropic.ts';
import { googleContent } from './google.ts';
import { listReply } from './lists.ts';
import { mistralChat } from './mistral.ts';
import { ollamaChat } from './ollama.ts';
import { openaiChat } from './openai-chat.ts';
import { openaiResponses } from './openai-responses.ts';
import { openrouterChat } from './openrouter.ts';
import { paceOf, piecesOf } from './pace.ts';
import type { Pace, Profile } from './pace.ts';
import { callCounter, turnOf } from './personas.ts';
import type { TurnSettings } from './personas.ts';
import { idOf, questionOf } from './wire.ts';
import type { StreamedTurn, WireCall, WireFailure, WireFormat, WireStream } from './wire.ts';

/**
 * The model providers on loopback, in their own wire formats, one origin with a path for each. The
 * app reaches it with the vendors' SDKs; only the address differs.
 */
export type ProviderSandbox = {
  /** The origin, such as `http://127.0.0.1:41234`; `sandboxPath` of a provider goes behind it. */
  url: string;
  close(): Promise<void>;
};

export type ProviderSandboxSettings = TurnSettings & {
  catalogue: Pick<Catalogue, 'models' | 'modelOf'>;
  profile: Profile;
  /** 0 or absent takes a free port. */
  port?: number;
  /** Answers everything under `/dev/`. */
  pages?: RequestListener;
};

/** The first matching path answers. */
const formats: readonly WireFormat[] = [
  openaiResponses,
  anthropicMessages,
  googleContent,
  mistralChat,
  openrouterChat,
  ollamaChat,
  openaiChat,
];

const bodyLimitBytes = 8 * 1024 * 1024;

/** With this key a caller finds out what a wrong key does. */
export const refusedKey = 'invalid';

export async function startProviderSandbox(
  settings: ProviderSandboxSettings,
): Promise<ProviderSandbox> {
  const count = callCounter();
  const server = createServer((request, response) => {
    answer(request, response, settings, count).catch((error: unknown) => {
      // The caller of an unreadable request is gone; the next request must still be answered.
      response.destroy(error instanceof Error ? error : undefined);
    });
  });
  server.listen(settings.port ?? 0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The sandbox has no port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  settings: ProviderSandboxSettings,
  count: (call: WireCall) => number,
): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://127.0.0.1');
  if (settings.pages && url.pathname.startsWith('/dev/')) {
    settings.pages(request, response);
    return;
  }
  const found = formatOf(url.pathname);
  const body = await bodyOf(request);
  if (request.method !== 'POST' || found === null) {
    answerList(request, response, { url, body }, settings);
    return;
  }
  const { format, match } = found;
  const key = format.keyOf(headersOf(request), url);
  if (key === null || key === refusedKey) {
    sendFailure(response, format, invalid('auth', 'The key is not valid.'));
    return;
  }
  const call = readCall(format, body, match);
  if ('failure' in call) {
    sendFailure(response, format, call);
    return;
  }
  const calls = count(call);
  const asked = asListed(call, settings.catalogue);
  const turn = turnOf(asked, calls, settings);
  if (turn.kind === 'failure') {
    sendFailure(response, format, turn);
    return;
  }
  const ids = {
    id: idOf(settings.seed, call.model, questionOf(call), calls),
    createdAtSeconds: Math.floor(Date.now() / 1000),
  };
  const pace = paceOf(asked, settings.personas[asked.model] ?? null, settings.profile);
  await stream(response, { wire: format.begin(call, turn, ids), turn, pace, format });
}

function answerList(
  request: IncomingMessage,
  response: ServerResponse,
  asked: { url: URL; body: string | null },
  { catalogue }: Pick<ProviderSandboxSettings, 'catalogue'>,
): void {
  const list = { method: request.method ?? '', headers: headersOf(request), ...asked };
  try {
    const reply = listReply(list, catalogue, refusedKey);
    if (reply !== null) sendJson(response, reply.status, reply.body);
    else sendJson(response, 404, { error: { message: 'No such address in the sandbox.' } });
  } catch (error) {
    if (!(error instanceof ValiError) && !(error instanceof SyntaxError)) throw error;
    sendJson(response, 400, { error: 'The request has the wrong shape.' });
  }
}

/**
 * A router's model as the catalogue has it, so that it answers, and fails, as it would at its maker;
 * a local one as a model of an endpoint, about which nothing more is known.
 */
function asListed(call: WireCall, { models }: ProviderSandboxSettings['catalogue']): WireCall {
  if (call.provider === 'ollama') return { ...call, provider: 'compatible' };
  if (call.provider !== 'openrouter') return call;
  const entry = models.find(({ remoteIds }) => remoteIds['openrouter'] === call.model);
  if (entry === undefined) return call;
  return { ...call, model: entry.id, provider: entry.provider ?? 'compatible' };
}

function formatOf(pathname: string): { format: WireFormat; match: RegExpExecArray } | null {
  for (const format of formats) {
    const match = format.path.exec(pathname);
    if (match !== null) return { format, match };
  }
  return null;
}

function readCall(
  format: WireFormat,
  body: string | null,
  match: RegExpExecArray,
): WireCall | WireFailure {
  if (body === null) return invalid('bad_request', 'The request is too large.');
  try {
    const call = format.read(JSON.parse(body), match);
    if (!call.stream) return invalid('bad_request', 'The sandbox answers as a stream only.');
    const { refusal } = call;
    return refusal === undefined ? call : invalid(refusal.failure, refusal.message);
  } catch (error) {
    if (error instanceof ValiError || error instanceof SyntaxError) {
      return invalid('bad_request', 'The request has the wrong shape.');
    }
    throw error;
  }
}

function invalid(failure: WireFailure['failure'], message: string): WireFailure {
  return { kind: 'failure', failure, message, retryAfterSeconds: null };
}

/**
 * Writes the events at their times. Each piece has its own moment counted from the start, so that a
 * busy machine makes the stream uneven and not longer. Stops when the caller disconnects.
 */
async function stream(
  response: ServerResponse,
  {
    wire,
    turn,
    pace,
    format,
  }: { wire: WireStream; turn: StreamedTurn; pace: Pace; format: WireFormat },
): Promise<void> {
  const startedAt = performance.now();
  const gone = new AbortController();
  response.on('close', () => gone.abort());
  response.writeHead(200, {
    'content-type': format.contentType ?? 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
  });
  response.flushHeaders();
  const write = (frames: string[]): void => {
    if (frames.length > 0 && !gone.signal.aborted) response.write(frames.join(''));
  };
  try {
    write(wire.open());
    if (turn.kind === 'hang') return;
    const pieces = turn.kind === 'reply' ? piecesOf(turn.text, pace.pieces) : [];
    for (const [index, piece] of pieces.entries()) {
      const share = index / pieces.length;
      const due = pace.firstWordMs + (pace.lastWordMs - pace.firstWordMs) * share;
      await until(startedAt + due, gone.signal);
      write(wire.text(piece));
    }
    await until(startedAt + pace.lastWordMs, gone.signal);
    write(wire.close(turn));
    response.end();
  } catch (error) {
    if (!gone.signal.aborted) throw error;
  }
}

async function until(atMs: number, signal: AbortSignal): Promise<void> {
  const waitMs = atMs - performance.now();
  if (waitMs > 1) await sleep(waitMs, undefined, { signal });
  signal.throwIfAborted();
}

function sendFailure(response: ServerResponse, format: WireFormat, failure: WireFailure): void {
  const { status, body } = format.failure(failure);
  if (failure.retryAfterSeconds !== null) {
    response.setHeader('retry-after', String(failure.retryAfterSeconds));
  }
  sendJson(response, status, body);
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

/** Null when it is longer than any request we send. */
async function bodyOf(request: IncomingMessage): Promise<string | null> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes <= bodyLimitBytes) chunks.push(chunk);
  }
  return bytes > bodyLimitBytes ? null : Buffer.concat(chunks).toString('utf8');
}

function headersOf(request: IncomingMessage): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headers)) {
    if (typeof value === 'string') headers.set(name, value);
  }
  return headers;
}
