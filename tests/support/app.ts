import { randomBytes } from 'node:crypto';
import { openCore, openHttp } from '#services/wiring.ts';
import type { Core } from '#services/wiring.ts';
import { readEnv } from '#services/platform/env.ts';
import type { EnvSource } from '#services/platform/env.ts';
import { createLog } from '#services/platform/log.ts';
import { createTestDatabase } from './database.ts';
import type { TestDatabase } from './database.ts';

/** The real application over a database of its own, called without a socket. */
export type TestApp = {
  core: Core;
  database: TestDatabase;
  /** Log lines, as JSON. */
  logged: string[];
  call(path: string, options?: CallOptions): Promise<Response>;
  /** The `data` of a success; anything else throws with what was answered. */
  data<Data>(path: string, options?: CallOptions): Promise<Data>;
  signUp(): Promise<Person>;
  close(): Promise<void>;
};

export type Person = { token: string; userId: string; email: string };

export type CallOptions = {
  method?: string;
  body?: unknown;
  token?: string;
  key?: string;
  headers?: Record<string, string>;
  signal?: AbortSignal;
};

export async function createTestApp(
  options: { env?: EnvSource; clock?: () => number } = {},
): Promise<TestApp> {
  const database = await createTestDatabase();
  const logged: string[] = [];
  const log = createLog({
    level: 'info',
    process: 'test',
    destination: { write: (line) => void logged.push(line) },
  });
  const env = {
    ...readEnv({ SANDBOX_URL: 'http://127.0.0.1:1', ...options.env }),
    databaseUrl: database.appUrl,
    dataKeys: [randomBytes(32)],
    jwtKeys: [randomBytes(32)],
  };
  const resources = new AsyncDisposableStack();
  const context = { env, log, resources };
  const core = await openCore('test', context, 10, options.clock);
  const { app } = await openHttp(context, core);

  const call: TestApp['call'] = async (path, { method, body, token, key, headers, signal } = {}) =>
    app.request(`http://localhost/api${path}`, {
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      headers: {
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(key === undefined ? {} : { 'idempotency-key': key }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    });

  const data: TestApp['data'] = async <Data>(path: string, callOptions?: CallOptions) => {
    const response = await call(path, callOptions);
    const text = await response.text();
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${text}`);
    return (JSON.parse(text) as { data: Data }).data;
  };

  let people = 0;
  return {
    core,
    database,
    logged,
    call,
    data,
    async signUp() {
      people += 1;
      const email = `person-${people}-${randomBytes(3).toString('hex')}@example.com`;
      const { token, user } = await data<{ token: string; user: { id: string } }>('/auth/signup', {
        body: { name: 'A Person', email, password: 'Passw0rd-1' },
      });
      return { token, userId: user.id, email };
    },
    async close() {
      await resources.disposeAsync();
      await database.drop();
    },
  };
}
