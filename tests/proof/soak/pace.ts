import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { listen, stopListening } from '#services/platform/process/listen.ts';
import { percentile } from '#tests/bench/report.ts';

/** `peer` is an empty server of Node beside the application: what the machine itself is worth just now. */
export type Kind = 'call' | 'sign-in' | 'peer';
export type Timed = <Result>(kind: Kind, call: () => Promise<Result>) => Promise<Result>;
type Call = { kind: Kind; atMs: number; tookMs: number };

/** How long calls took. */
export type Pace = AsyncDisposable & {
  timed: Timed;
  /** The percentile of calls that began between two moments, in milliseconds. */
  between(kind: Kind, fromMs: number, toMs: number, share: number): number;
  count(kind: Kind): number;
};

const peerEveryMs = 200;

export async function createPace(): Promise<Pace> {
  const calls: Call[] = [];
  const began = performance.now();
  const timed: Timed = async (kind, call) => {
    const from = performance.now();
    const result = await call();
    calls.push({ kind, atMs: from - began, tookMs: performance.now() - from });
    return result;
  };
  const server = createServer((_request, response) => response.end('{"data":null}'));
  const url = await listen(server, { host: '127.0.0.1', port: 0, isOwn: true, variable: 'PORT' });
  const ending = new AbortController();
  const asking = (async () => {
    while (!ending.signal.aborted) {
      await timed('peer', async () => (await fetch(url)).json());
      await sleep(peerEveryMs);
    }
  })();
  return {
    timed,
    between: (kind, fromMs, toMs, share) =>
      percentile(
        calls
          .filter((call) => call.kind === kind && call.atMs >= fromMs && call.atMs < toMs)
          .map(({ tookMs }) => tookMs),
        share,
      ),
    count: (kind) => calls.filter((call) => call.kind === kind).length,
    async [Symbol.asyncDispose]() {
      ending.abort();
      await asking;
      await stopListening(server);
    },
  };
}
