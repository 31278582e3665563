import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { loadCatalogue } from '#services/models/catalogue.ts';
import { costMicros } from '#services/models/catalogue/prices.ts';
import { ModelFailure } from '#services/models/model.ts';
import type { ModelReply, Provider, UsageRecord } from '#services/models/model.ts';
import { loadSdks } from '#services/models/provider-list.ts';
import { sandboxBaseUrl } from '#services/models/registry.ts';
import { startProviderSandbox } from '#services/sandbox/models/provider-sandbox.ts';
import type { ProviderSandbox } from '#services/sandbox/models/provider-sandbox.ts';
import { counts, hiddenCharacters, waits } from '#tests/walls/hostile/inputs.ts';
import { collect, failureOfCall, providerCases, requestTo } from './provider-cases.ts';
import type { ProviderCase } from './provider-cases.ts';
import { rawServer } from './raw-server.ts';

const catalogue = loadCatalogue(null);

/** What a broken or hostile provider sends, through the real SDKs. */
let sandbox: ProviderSandbox;
const open: { close(): Promise<void> }[] = [];
beforeAll(async () => {
  await loadSdks();
  sandbox = await startProviderSandbox({
    respond: () => ({ text: 'Lease it.', thinkingTokens: 40 }),
    seed: 'test',
    catalogue,
    personas: {},
    profile: 'instant',
  });
  open.push(sandbox);
});
afterAll(async () => {
  await Promise.all(open.map(async (each) => each.close()));
});

async function providerThat(
  { definition }: ProviderCase,
  handle: Parameters<typeof rawServer>[0],
): Promise<Provider> {
  const server = await rawServer(handle);
  open.push(server);
  return definition.connect({ apiKey: 'key', baseUrl: sandboxBaseUrl(server.url, definition) });
}

/** The sandbox's own events, changed on the way. */
async function changed(each: ProviderCase, change: (events: string) => string) {
  return providerThat(each, ({ url = '', method = '', headers }, response, body) => {
    const { host: _host, connection: _connection, ...sent } = headers;
    const answered = async () => {
      const reply = await fetch(`${sandbox.url}${url}`, {
        method,
        headers: sent as Record<string, string>,
        body,
      });
      const type = reply.headers.get('content-type') ?? 'text/event-stream';
      const events = change(await reply.text());
      response.writeHead(reply.status, { 'content-type': type });
      response.end(events);
    };
    answered().catch((error: unknown) => response.destroy(error as Error));
  });
}

const isCount = (count: number | null) =>
  count === null || (Number.isSafeInteger(count) && count >= 0 && count <= 100_000_000);

const everyCount = /("\w*[tT]oken(?:s|Count)":)\d+/g;
const partCount = /("(?:cached\w*|cache_read\w*|reasoning|thinking|thoughts)[tT_]\w+":)\d+/g;

/** The faults of a usage record and of its cost. */
function faultsOf(usage: UsageRecord, model: string): string[] {
  const { source: _source, ...all } = usage;
  const cost = costMicros(usage, catalogue.priceOf(model, '2026-11-20T12:00:00.000Z'));
  const isCost = cost === null || (Number.isSafeInteger(cost) && cost >= 0);
  return [
    ...Object.entries(all).flatMap(([name, count]) => (isCount(count) ? [] : [name])),
    ...(isCost ? [] : ['cost']),
  ];
}

/** One SDK refuses an event with a value of another type, and the reply with it. */
async function replyOf(each: ProviderCase, provider: Provider): Promise<ModelReply | null> {
  try {
    return (await collect(provider, requestTo(each.model))).reply;
  } catch (error) {
    if (error instanceof ModelFailure && error.failure === 'malformed' && each.name === 'mistral')
      return null;
    throw error;
  }
}

describe.each(providerCases.map((each) => [each.name, each] as const))('%s', (_name, each) => {
  const { model, answers } = each;

  test('a token count that makes no sense is unknown', async () => {
    for (const { name, input } of counts)
      for (const pattern of [everyCount, partCount]) {
        const provider = await changed(each, (events) => events.replace(pattern, `$1${input}`));
        const reply = await replyOf(each, provider);
        expect([name, reply?.text ?? 'Lease it.']).toEqual([name, 'Lease it.']);
        expect([name, reply === null ? [] : faultsOf(reply.usage, answers.model)]).toEqual([
          name,
          [],
        ]);
      }
  });

  test('parts that are larger than their total are unknown, and the total counts', async () => {
    const provider = await changed(each, (events) => events.replace(partCount, '$19000000'));
    const { usage } = (await collect(provider, requestTo(model))).reply;
    // Two vendors count a part beside the rest: the sum is the whole there, and any part fits.
    expect(usage).toMatchObject({
      ...(each.name === 'anthropic' ? {} : { inputUncached: 29, inputCached: null }),
      ...(each.name === 'google' ? {} : { outputVisible: 43, outputThinking: null }),
    });
  });

  test('the body of an error is read to 64 kB, and then the connection is closed', async () => {
    let sent = 0;
    const closed = Promise.withResolvers<void>();
    const chunk = Buffer.alloc(65_536, 'x');
    const provider = await providerThat(each, (_request, response) => {
      response.writeHead(500, { 'content-type': 'application/json' });
      const more = () => {
        while (!response.destroyed && sent < 500_000_000) {
          sent += chunk.length;
          if (!response.write(chunk)) return;
        }
        response.end();
      };
      response.on('drain', more).on('close', () => closed.resolve());
      more();
    });
    const failure = await failureOfCall(provider, requestTo(model));
    expect(failure.failure).toBe('unavailable');
    await closed.promise;
    // Bytes that are still in the sockets are not read.
    expect(sent).toBeLessThan(50_000_000);
  });

  test('a wait that makes no sense is limited or ignored', async () => {
    let headers: Readonly<Record<string, string>> = {};
    const provider = await providerThat(each, (_request, response) => {
      response.writeHead(429, headers);
      response.end('{}');
    });
    for (const { name, input, left } of waits) {
      headers = input;
      const { retryAfterMs } = await failureOfCall(provider, requestTo(model));
      expect([name, retryAfterMs]).toEqual([name, left]);
    }
    const inBody = await providerThat(each, (_request, response) => {
      response.writeHead(429);
      response.end(`{"error":{"details":[{"retryDelay":"${'9'.repeat(400)}s"}]}}`);
    });
    expect((await failureOfCall(inBody, requestTo(model))).retryAfterMs).toBe(3_600_000);
  });

  test('the name of the model that answered is a short text without hidden characters', async () => {
    const names = hiddenCharacters.map(({ input }) => JSON.stringify(`${input}${'x'.repeat(300)}`));
    for (const name of [...names, '""', '7', '{"a":1}']) {
      const provider = await changed(each, (events) =>
        events.replace(/("model(?:Version)?":)"[^"]*"/g, (_all, key: string) => key + name),
      );
      const answeredBy = (await replyOf(each, provider))?.answeredBy ?? model;
      expect(answeredBy).toMatch(/^[^\p{Cc}\u202e\u2066\u{e0041}]{1,100}$/u);
    }
  });

  test('a text that is not a string is a malformed reply', async () => {
    for (const text of ['7', '{"a":1}', '["Lease it."]']) {
      const provider = await changed(each, (events) =>
        events.replace(/("(?:delta|text|content)":)"[^"]+"/g, (_all, key: string) => key + text),
      );
      const outcome = await collect(provider, requestTo(model)).catch((error: unknown) => error);
      expect(outcome).toMatchObject({ failure: 'malformed' });
    }
  });
});

test('a stream is read to 32 MiB, whatever it holds', async () => {
  const [each] = providerCases.filter(({ name }) => name === 'compatible');
  if (each === undefined) throw new Error('No case');
  const chunk = `: ${'x'.repeat(1_000_000)}\n\n`;
  let sent = 0;
  const provider = await providerThat(each, (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const more = () => {
      while (!response.destroyed && sent < 100_000_000) {
        sent += chunk.length;
        if (!response.write(chunk)) return;
      }
      response.end();
    };
    response.on('drain', more);
    more();
  });
  const failure = await failureOfCall(provider, requestTo(each.model));
  expect(failure.failure).toBe('malformed');
  expect(sent).toBeLessThan(50_000_000);
});
