import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import type { createApp } from '#services/http/app.ts';
import { openCore } from '#services/core.ts';
import type { Core } from '#services/core.ts';
import { readEnv } from '#services/platform/process/env.ts';
import type { EnvSource } from '#services/platform/process/env.ts';
import type { ProcessContext } from '#services/platform/process/lifecycle.ts';
import { writerOf } from '#services/platform/http/http.ts';
import { createLog } from '#services/platform/process/log.ts';
import { createTestDatabase } from './database.ts';
import type { TestDatabase } from './database.ts';
import { expectDescribed } from './described.ts';
import { testPassword } from './password.ts';
import { openHttp } from '#services/http/open.ts';

/** The real application over a database of its own, called without a socket. */
export type TestApp = Calls & {
  /** To open another process of the application. */
  context: ProcessContext;
  core: Core;
  /** For its routes, and for paths outside /api. */
  app: ReturnType<typeof createApp>;
  database: TestDatabase;
  /** Log lines, as JSON. */
  logged: string[];
  signUp(): Promise<Person>;
  /** Resolves once all work after a response has ended. */
  settled(): Promise<void>;
  close(): Promise<void>;
};

/** How an application is called. */
export type Calls = {
  call: (path: string, options?: CallOptions) => Promise<Response>;
  /** The `data` of a successful response; any other response throws. */
  data: <Data>(path: string, options?: CallOptions) => Promise<Data>;
};

export type Person = { token: string; userId: string; email: string };

export type CallOptions = {
  method?: string;
  body?: unknown;
  /** The raw body, in place of `body`; `headers` must give its type. */
  raw?: Uint8Array<ArrayBuffer> | ReadableStream;
  token?: string;
  key?: string;
  headers?: Record<string, string>;
  signal?: AbortSignal;
  /** The caller's address; default: unknown. */
  address?: string;
};

export async function createTestApp(
  options: {
    env?: EnvSource;
    clock?: () => number;
    jwtKeys?: readonly Buffer[];
    /** Replaces parts of what every process opens. */
    replace?: (core: Core) => Partial<Core>;
  } = {},
): Promise<TestApp> {
  const database = await createTestDatabase();
  const logged: string[] = [];
  const log = createLog({
    level: 'info',
    process: 'test',
    destination: { write: (line) => void logged.push(line) },
  });
  const env = {
    ...readEnv({
      SANDBOX_URL: 'http://127.0.0.1:1',
      // Tests of these settings override them.
      REQUIRE_EMAIL_CONFIRMATION: 'false',
      RATE_LIMITS: 'off',
      ...options.env,
    }),
    databaseUrl: database.appUrl,
    erasureLog: join(tmpdir(), `erasures-${randomBytes(6).toString('hex')}.ndjson`),
    dataKeys: [randomBytes(32)],
    jwtKeys: options.jwtKeys ?? [randomBytes(32)],
  };
  const resources = new AsyncDisposableStack();
  const context = { env, log, resources };
  const opened = await openCore('test', context, 10, options.clock);
  const core = { ...opened, ...options.replace?.(opened) };
  const { app, afterwards } = await openHttp(context, core);

  const { call, data } = callsOf(app);
  let people = 0;
  return {
    context,
    core,
    app,
    database,
    logged,
    call,
    data,
    async signUp() {
      people += 1;
      const email = `person-${people}-${randomBytes(3).toString('hex')}@example.com`;
      const { token, user } = await data<{ token: string; user: { id: string } }>('/auth/signup', {
        body: { name: 'A Person', email, password: testPassword },
      });
      return { token, userId: user.id, email };
    },
    settled: async () => afterwards.settled(),
    async close() {
      await resources.disposeAsync();
      await database.drop();
      rmSync(env.erasureLog, { force: true });
    },
  };
}

/** Calls as the server does: what is written to the connection becomes the body. */
export async function request(
  app: Pick<TestApp['app'], 'request'>,
  url: string,
  init?: RequestInit,
  bindings: object = {},
): Promise<Response> {
  const response = await app.request(url, init, bindings);
  const write = writerOf(bindings);
  if (write === null) return response;
  const connection = new PassThrough();
  connection.on('error', () => {
    // The reader has left.
  });
  write(connection);
  return new Response(Readable.toWeb(connection) as ReadableStream<Uint8Array>, response);
}

/** Calls of an application without a socket. */
export function callsOf(app: Pick<TestApp['app'], 'request'>): Calls {
  const call: Calls['call'] = async (
    path,
    { method, body, raw, token, key, headers, signal, address } = {},
  ) => {
    const asked = method ?? (body === undefined ? 'GET' : 'POST');
    const bindings =
      address === undefined ? {} : { incoming: { socket: { remoteAddress: address } } };
    const response = await request(
      app,
      `http://localhost/api${path}`,
      {
        method: asked,
        headers: {
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...(key === undefined ? {} : { 'idempotency-key': key }),
          ...(headers?.['cookie'] === undefined ? {} : { 'sec-fetch-site': 'same-origin' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        ...(raw === undefined ? {} : { body: raw, duplex: 'half' }),
        ...(signal === undefined ? {} : { signal }),
      },
      bindings,
    );
    await expectDescribed(asked, path, response);
    return response;
  };

  const data: Calls['data'] = async <Data>(path: string, callOptions?: CallOptions) => {
    const response = await call(path, callOptions);
    const text = await response.text();
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${text}`);
    return (JSON.parse(text) as { data: Data }).data;
  };
  return { call, data };
}
