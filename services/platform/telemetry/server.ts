import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { listen, stopListening } from '#services/platform/process/listen.ts';
import type { Log } from '#services/platform/process/log.ts';

/**
 * `GET /metrics` on a port of its own, never on the public one: figures of the business are in it. With
 * `Accept: application/json` it answers as prom-client's aggregation wants it.
 */
export type MetricsPage = {
  contentType: string;
  text: () => Promise<string>;
  /** Null where no supervisor asks. */
  json: (() => Promise<unknown>) | null;
};

export async function serveMetrics(
  page: MetricsPage,
  place: { host: string; port: number },
  log: Pick<Log, 'error'>,
): Promise<{ address: string; close(): Promise<void> }> {
  const server = createServer((request, response) => {
    answer(page, request, response).catch((error: unknown) => {
      log.error({ err: error }, 'The metrics could not be shown');
      if (!response.headersSent) response.writeHead(500);
      response.end();
    });
  });
  const address = await listen(server, { ...place, isOwn: true, variable: 'METRICS_PORT' });
  return { address, close: async () => stopListening(server) };
}

async function answer(
  { contentType, text, json }: MetricsPage,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const [path] = (request.url ?? '').split('?');
  if (path !== '/metrics' || request.method !== 'GET') {
    response.writeHead(404).end();
    return;
  }
  const asJson = json !== null && request.headers.accept === 'application/json';
  const body = asJson ? JSON.stringify(await json()) : await text();
  response
    .writeHead(200, {
      'Content-Type': asJson ? 'application/json' : contentType,
      'Cache-Control': 'no-store',
    })
    .end(body);
}
