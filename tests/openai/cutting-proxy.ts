import { createServer } from 'node:http';
import { listen, stopListening } from '#services/platform/process/listen.ts';

/** Cuts the first connections off; one that holds responses passes nothing on until they are complete. */
export async function cuttingProxy(
  target: string,
  { cuts, afterMs, isHeld }: { cuts: number; afterMs: number; isHeld: boolean },
) {
  let requests = 0;
  const server = createServer((request, response) => {
    void (async () => {
      requests += 1;
      const isCut = requests <= cuts;
      if (isCut) setTimeout(() => request.socket.destroy(), afterMs);
      const chunks = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const answer = await fetch(`${target}${request.url}`, {
        method: 'POST',
        headers: {
          authorization: request.headers.authorization ?? '',
          'content-type': 'application/json',
        },
        body: Buffer.concat(chunks),
      });
      const head = () => response.writeHead(answer.status, { 'content-type': 'application/json' });
      if (isHeld) {
        const body = await answer.text();
        head();
        response.end(body);
        return;
      }
      head();
      for await (const chunk of answer.body ?? []) response.write(chunk);
      response.end();
    })().catch((error: unknown) => response.destroy(error as Error));
  });
  const url = await listen(server, { host: '127.0.0.1', port: 0 });
  return { url, requests: () => requests, close: async () => stopListening(server) };
}
