import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * The network between two processes, which a test breaks and heals. One fault at a time holds for every
 * connection, also for those that are opened meanwhile.
 */
export type Fault =
  /** Each piece arrives that much later. */
  | { kind: 'latency'; ms: number }
  | { kind: 'throttle'; bytesPerSecond: number }
  /** Nothing arrives, not even the end of a connection, until the fault is healed; then all of it does. */
  | { kind: 'loss' }
  /** Half-open: what this side sends is lost, and its connections stay deaf after the fault is healed. */
  | { kind: 'silence'; of: Side }
  /** Every connection is reset (RST). */
  | { kind: 'reset' }
  /** Every connection is closed, and no new one is accepted. */
  | { kind: 'refuse' };

/** The client opened the connection. */
export type Side = 'client' | 'server';

export type FaultProxy = AsyncDisposable & {
  port: number;
  /** The same address through the proxy. */
  through(url: string): string;
  /** Begins a fault, and ends the one before. */
  inject(fault: Fault): Promise<void>;
  heal(): Promise<void>;
  /** Connections so far; those that a fault has broken or made deaf; and the deaf ones that are still open. */
  counts(): { opened: number; broken: number; deaf: number };
};

type Way = { from: Socket; to: Socket; side: Side; isDeaf: boolean };

type Network = {
  fault(): Fault | null;
  /** Waits until bytes may pass; false when those of this side are lost. */
  passes(way: Way): Promise<boolean>;
  /** Waits until the other side may learn that this one has ended. */
  ends(way: Way): Promise<void>;
};

/** @param target where the proxy connects to; nobody needs to listen there yet */
export async function startFaultProxy(target: {
  port: number;
  host?: string;
}): Promise<FaultProxy> {
  const open = new Set<Socket>();
  const now: { fault: Fault | null; healed: PromiseWithResolvers<void> } = {
    fault: null,
    healed: Promise.withResolvers(),
  };
  const deaf = new Set<Way>();
  const client = ({ from, to, side }: Way) => (side === 'client' ? from : to);
  let opened = 0;
  let broken = 0;

  const isSilent = ({ side }: Way) => now.fault?.kind === 'silence' && now.fault.of === side;
  const network: Network = {
    fault: () => now.fault,
    async passes(way) {
      while (now.fault?.kind === 'loss') await now.healed.promise;
      if (isSilent(way) && !way.isDeaf) {
        way.isDeaf = true;
        broken += 1;
        deaf.add(way);
        client(way).once('close', () => deaf.delete(way));
      }
      return !way.isDeaf;
    },
    async ends(way) {
      while (now.fault?.kind === 'loss' || isSilent(way)) await now.healed.promise;
    },
  };

  const server: Server = createServer({ allowHalfOpen: true }, (accepted) => {
    opened += 1;
    const { port: further, host = '127.0.0.1' } = target;
    const upstream = connect({ port: further, host, allowHalfOpen: true });
    const ways: Way[] = [
      { from: accepted, to: upstream, side: 'client', isDeaf: false },
      { from: upstream, to: accepted, side: 'server', isDeaf: false },
    ];
    for (const way of ways) {
      open.add(way.from);
      way.from.setNoDelay(true);
      way.from.once('close', () => open.delete(way.from));
      void carry(way, network);
    }
    if (now.fault?.kind !== 'reset') return;
    broken += 1;
    reset([accepted, upstream]);
  });

  const reset = (sockets: Iterable<Socket>): void => {
    for (const socket of sockets) socket.resetAndDestroy();
  };
  const listen = async (port: number): Promise<number> => {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('The proxy has no port');
    return address.port;
  };
  const stopListening = async (): Promise<void> => {
    if (!server.listening) return;
    const closed = once(server, 'close');
    server.close();
    for (const socket of open) socket.destroy();
    await closed;
  };
  const port = await listen(0);

  const inject = async (next: Fault | null): Promise<void> => {
    const wasRefusing = now.fault?.kind === 'refuse';
    now.fault = next;
    now.healed.resolve();
    now.healed = Promise.withResolvers();
    if (next?.kind === 'reset' || next?.kind === 'refuse') broken += open.size / 2;
    if (next?.kind === 'reset') reset(open);
    if (next?.kind === 'refuse') await stopListening();
    else if (wasRefusing) await listen(port);
  };
  return {
    port,
    through(url) {
      const changed = new URL(url);
      changed.hostname = '127.0.0.1';
      changed.port = String(port);
      // A URL without a path gets one, which is no part of an address.
      return url.endsWith('/') ? changed.href : changed.href.replace(/\/$/, '');
    },
    inject,
    heal: async () => inject(null),
    counts: () => ({ opened, broken, deaf: deaf.size }),
    [Symbol.asyncDispose]: async () => {
      await inject({ kind: 'refuse' });
    },
  };
}

/** Carries what one side sends, in order and under the fault of the moment; then its end. */
async function carry(way: Way, network: Network): Promise<void> {
  const { from, to } = way;
  const pieces: { piece: Buffer; readAt: number }[] = [];
  const end = { isOver: false, hasFailed: false, wake: (): void => undefined };
  const over = () => {
    end.isOver = true;
    end.wake();
  };
  from.on('data', (piece) => {
    pieces.push({ piece, readAt: performance.now() });
    end.wake();
  });
  from.on('error', () => (end.hasFailed = true));
  from.once('end', over);
  from.once('close', over);
  while (pieces.length > 0 || !end.isOver) {
    const next = pieces.shift();
    if (next === undefined) {
      const { promise, resolve } = Promise.withResolvers<void>();
      end.wake = resolve;
      await promise;
      continue;
    }
    await delayed(network.fault(), next);
    if (await network.passes(way)) to.write(next.piece);
  }
  await network.ends(way);
  if (end.hasFailed) to.resetAndDestroy();
  else to.end();
}

async function delayed(
  fault: Fault | null,
  { piece, readAt }: { piece: Buffer; readAt: number },
): Promise<void> {
  if (fault?.kind === 'latency') await sleep(Math.max(0, readAt + fault.ms - performance.now()));
  if (fault?.kind === 'throttle') await sleep((piece.length * 1_000) / fault.bytesPerSecond);
}
