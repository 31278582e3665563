import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A receiver of OTLP over HTTP in JSON, on loopback. */
export type Collector = AsyncDisposable & {
  url: string;
  spans(): readonly SentSpan[];
  /** Everything that was received, as it was sent. */
  received(): string;
  /** Of the last request. */
  headers(): IncomingMessage['headers'];
};

export type SentSpan = {
  service: string;
  traceId: string;
  spanId: string;
  parentSpanId: string | null;
  name: string;
  kind: number;
  /** 2 is an error. */
  status: number;
  attributes: Readonly<Record<string, string | number | boolean>>;
  links: readonly { traceId: string; spanId: string }[];
};

type Value = { stringValue?: string; intValue?: number | string; doubleValue?: number };
type Attributes = { key: string; value: Value }[];
type Sent = {
  resourceSpans: {
    resource: { attributes: Attributes };
    scopeSpans: {
      spans: {
        traceId: string;
        spanId: string;
        parentSpanId?: string;
        name: string;
        kind: number;
        status: { code?: number };
        attributes: Attributes;
        links?: { traceId: string; spanId: string }[];
      }[];
    }[];
  }[];
};

export async function startCollector(): Promise<Collector> {
  const bodies: string[] = [];
  let last: IncomingMessage['headers'] = {};
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      last = request.headers;
      if (request.url === '/v1/traces') bodies.push(Buffer.concat(chunks).toString());
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans: () => bodies.flatMap((body) => spansOf(JSON.parse(body) as Sent)),
    received: () => bodies.join('\n'),
    headers: () => last,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function spansOf({ resourceSpans }: Sent): SentSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => ({
        service: String(valuesOf(resource.attributes)['service.name']),
        traceId: span.traceId,
        spanId: span.spanId,
        parentSpanId: span.parentSpanId ?? null,
        name: span.name,
        kind: span.kind,
        status: span.status.code ?? 0,
        attributes: valuesOf(span.attributes),
        links: span.links ?? [],
      })),
    ),
  );
}

function valuesOf(attributes: Attributes): Record<string, string | number | boolean> {
  return Object.fromEntries(
    attributes.map(({ key, value }) => [
      key,
      value.stringValue ?? Number(value.intValue ?? value.doubleValue),
    ]),
  );
}
