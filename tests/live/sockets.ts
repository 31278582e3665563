import { io } from 'socket.io-client';
import type { ManagerOptions, Socket, SocketOptions } from 'socket.io-client';
import type { Acknowledgement } from '#services/live/socket/contract.ts';
import {
  connectionLimits,
  createHttpServer,
  listen,
  stopListening,
} from '#services/platform/process/listen.ts';
import type { TestApp } from '#tests/support/app.ts';
import { openHttp } from '#services/http/open.ts';

/** An API process at a real port, in this process. */
export type TestPort = AsyncDisposable & { url: string };

export async function openPort(app: Pick<TestApp, 'context' | 'core'>): Promise<TestPort> {
  const { app: http, drain, sockets } = await openHttp(app.context, app.core);
  const server = createHttpServer(http.fetch, connectionLimits, sockets.protocol);
  const url = await listen(server, { host: '127.0.0.1', port: 0 });
  return {
    url,
    async [Symbol.asyncDispose]() {
      drain();
      await Promise.all([stopListening(server), sockets.close()]);
    },
  };
}

export type Client = {
  socket: Socket;
  /** Its messages, in order. */
  heard: { event: string; payload: Record<string, unknown> }[];
  send(event: string, ...args: unknown[]): Promise<Acknowledgement>;
};

export type ClientOptions = Partial<ManagerOptions & SocketOptions>;

/** As the specification connects. */
export function connect(url: string, token: unknown, options: ClientOptions = {}): Client {
  const socket = io(`${url}/optimization`, {
    auth: token === undefined ? {} : { token },
    transports: ['websocket', 'polling'],
    reconnectionAttempts: 5,
    reconnectionDelay: 1000,
    timeout: 10_000,
    forceNew: true,
    ...options,
  });
  const heard: Client['heard'] = [];
  socket.onAny((event: string, payload: Record<string, unknown>) => heard.push({ event, payload }));
  return {
    socket,
    heard,
    send: async (event, ...args) =>
      (await socket.timeout(30_000).emitWithAck(event, ...args)) as Acknowledgement,
  };
}

/** Resolves with `connected`, or with the sentence of the refusal. */
export async function outcomeOf({ socket }: Client): Promise<string> {
  const connected = Promise.withResolvers<string>();
  socket.once('connect', () => connected.resolve('connected'));
  socket.once('connect_error', (error) => connected.resolve(error.message));
  return connected.promise;
}
