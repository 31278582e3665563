import { createParser } from 'eventsource-parser';
import type { TestApp } from '#tests/support/app.ts';

/** One message of the stream as a client reads it. */
export type Heard = { event: string; id: string | undefined; data: Record<string, unknown> };

type Listening = {
  token: string;
  lastEventId?: string | undefined;
  watching?: string;
  enough: (heard: Heard) => boolean;
  timeoutMs?: number;
};

/** Resolves after the first message, so that later events arrive as messages and not in the snapshot. */
export async function nowListeningTo(
  app: Pick<TestApp, 'call'>,
  options: Listening,
): Promise<{ hearing: Promise<Heard[]> }> {
  const begun = Promise.withResolvers<void>();
  const hearing = listenTo(app, {
    ...options,
    enough(heard) {
      begun.resolve();
      return options.enough(heard);
    },
  });
  await Promise.race([begun.promise, hearing]);
  return { hearing };
}

/** Connects, collects messages, and drops the connection when `enough` returns true. */
export async function listenTo(app: Pick<TestApp, 'call'>, options: Listening): Promise<Heard[]> {
  const { token, lastEventId, watching, enough, timeoutMs = 60_000 } = options;
  const stop = new AbortController();
  const response = await app.call(
    `/stream${watching === undefined ? '' : `?optimization=${watching}`}`,
    {
      token,
      signal: stop.signal,
      headers: lastEventId === undefined ? {} : { 'last-event-id': lastEventId },
    },
  );
  if (!response.ok || !response.body) throw new Error(`The stream answered ${response.status}`);
  const heard: Heard[] = [];
  let done = false;
  const parser = createParser({
    onEvent({ event, id, data }) {
      if (done) return;
      const message = {
        event: event ?? '',
        id,
        data: JSON.parse(data) as Record<string, unknown>,
      };
      heard.push(message);
      done = enough(message);
    },
  });
  const reader: ReadableStreamDefaultReader<Uint8Array> = response.body.getReader();
  const decoder = new TextDecoder();
  const timer = setTimeout(() => void reader.cancel(), timeoutMs);
  try {
    for (;;) {
      const { value, done: ended } = await reader.read();
      if (ended) break;
      parser.feed(decoder.decode(value, { stream: true }));
      if (done) break;
    }
  } finally {
    clearTimeout(timer);
    await reader.cancel();
  }
  return heard;
}
