import { createParser } from 'eventsource-parser';
import { beginSession } from '#services/identity/sessions/sessions.ts';
import { createTokens } from '#services/identity/sessions/tokens.ts';
import type { Tokens } from '#services/identity/sessions/tokens.ts';
import type { GrowthDatabase } from './database.ts';

/** A user of a filled database, signed in. */
export type Person = { userId: string; token: string };

export type Client = {
  signIn(userId: string): Promise<Person>;
  /** The milliseconds of a call, and the `data` of its reply. */
  get(person: Person, path: string): Promise<{ ms: number; data: unknown }>;
  /** Until the first event of this name has arrived; with its id. */
  stream(
    person: Person,
    options: { query?: string; lastEventId?: string; until: 'snapshot' | 'fact' },
  ): Promise<{ ms: number; id: string }>;
};

export function createClient({ pool, publicUrl, keys }: GrowthDatabase): Client {
  const tokens: Tokens = createTokens({ keys: keys.jwt, publicUrl, clock: Date.now });
  const headers = ({ token }: Person) => ({ authorization: `Bearer ${token}` });
  return {
    async signIn(userId) {
      const start = {
        userId,
        method: 'magic',
        remembered: false,
        device: '',
        address: '',
      } as const;
      const { sessionId } = await beginSession(pool, start, new Date());
      return { userId, token: (await tokens.sign(userId, sessionId)).token };
    },
    async get(person, path) {
      const begun = performance.now();
      const response = await fetch(`${publicUrl}/api${path}`, { headers: headers(person) });
      const text = await response.text();
      const ms = performance.now() - begun;
      if (!response.ok) throw new Error(`${path} answered ${response.status}: ${text}`);
      return { ms, data: (JSON.parse(text) as { data: unknown }).data };
    },
    async stream(person, { query = '', lastEventId, until }) {
      const begun = performance.now();
      const stop = new AbortController();
      const response = await fetch(`${publicUrl}/api/stream${query}`, {
        headers: {
          ...headers(person),
          ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
        },
        signal: stop.signal,
      });
      if (!response.ok) throw new Error(`The stream answered ${response.status}`);
      const found = await firstOf(response, until);
      const ms = performance.now() - begun;
      stop.abort();
      return { ms, id: found };
    },
  };
}

async function firstOf(response: Response, name: string): Promise<string> {
  let id: string | null = null;
  const parser = createParser({
    onEvent(event) {
      if (event.event === name && event.id !== undefined) id ??= event.id;
    },
  });
  const decoder = new TextDecoder();
  for await (const chunk of (response.body as ReadableStream<Uint8Array>).values()) {
    parser.feed(decoder.decode(chunk, { stream: true }));
    if (id !== null) return id;
  }
  throw new Error(`The stream ended without "${name}"`);
}
