import { once } from 'node:events';

/** What a Node process holds right after it has collected its garbage. */
export type Held = { heapBytes: number; resources: number };

/** A Node process that was started with `--inspect`, over its debugging socket. */
export type Inspected = Disposable & { pid: number; held(): Promise<Held> };

type Reply = { id: number; result?: unknown; error?: { message: string } };

export async function inspect(url: string): Promise<Inspected> {
  const socket = new WebSocket(url);
  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  let asked = 0;
  socket.addEventListener('message', ({ data }) => {
    const { id, result, error } = JSON.parse(String(data)) as Reply;
    if (error === undefined) waiting.get(id)?.resolve(result);
    else waiting.get(id)?.reject(new Error(error.message));
    waiting.delete(id);
  });
  socket.addEventListener('close', () => {
    for (const reply of waiting.values()) reply.reject(new Error(`${url} was closed`));
    waiting.clear();
  });
  await once(socket, 'open', { signal: AbortSignal.timeout(10_000) });

  const ask = async (method: string, params = {}): Promise<unknown> => {
    const reply = Promise.withResolvers<unknown>();
    waiting.set((asked += 1), reply);
    socket.send(JSON.stringify({ id: asked, method, params }));
    return reply.promise;
  };
  const evaluate = async (expression: string): Promise<number> => {
    const reply = await ask('Runtime.evaluate', { expression, returnByValue: true });
    return Number((reply as { result: { value: unknown } }).result.value);
  };
  return {
    pid: await evaluate('process.pid'),
    async held() {
      await ask('HeapProfiler.collectGarbage');
      const { usedSize } = (await ask('Runtime.getHeapUsage')) as { usedSize: number };
      const resources = await evaluate('process.getActiveResourcesInfo().length');
      return { heapBytes: usedSize, resources };
    },
    [Symbol.dispose]: () => socket.close(),
  };
}
