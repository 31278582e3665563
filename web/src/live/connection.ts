import { createParser, type EventSourceMessage } from 'eventsource-parser';
import * as v from 'valibot';
import { Bye, Delta, Fact, Snapshot, Stale } from '#services/live/contract.ts';
import { ProblemReply } from '#services/platform/contract.ts';

/**
 * The page's one event stream. It is opened, read, watched and reopened while the page wants it. It
 * knows nothing of what the messages mean.
 *
 *   idle ──► connecting ──► connected ──► reconnecting ──► connected …
 *                 └──► error or offline: it keeps retrying and reports why it is down
 */
export type Connection =
  | { readonly status: 'idle' }
  | { readonly status: 'connecting' }
  | { readonly status: 'connected' }
  | { readonly status: 'reconnecting' }
  | { readonly status: 'offline' }
  | { readonly status: 'error'; readonly message: string };

export type StreamMessage =
  | { readonly kind: 'snapshot'; readonly snapshot: Snapshot }
  | { readonly kind: 'fact'; readonly fact: Fact }
  | { readonly kind: 'delta'; readonly delta: Delta }
  | { readonly kind: 'stale'; readonly name: string };

export type ConnectionPorts = {
  /** Null without a session. */
  token: () => Promise<string | null>;
  /** Renews the token; resolves when there is one, or certainly none. */
  renew: () => Promise<unknown>;
  isOnline: () => boolean;
  onMessage: (message: StreamMessage) => void;
  onStatus: (connection: Connection) => void;
  /** The clock in a response header is the server's. */
  onServerTime: (serverMs: number) => void;
  /** The watched run does not exist or belongs to another user. */
  onMissing: (runId: string) => void;
  /** For tests: 0 to 1. */
  random: () => number;
};

export type StreamConnection = {
  start: () => void;
  /** Closes the stream; the next start resumes after the last message. */
  pause: () => void;
  /** Selects the run to watch; a change reopens the stream with a snapshot. */
  watch: (runId: string | null) => void;
  /** Retries at once instead of waiting for the current delay. */
  hurry: () => void;
  /** When anything last arrived, by this machine's clock; null before that. */
  lastHeardAt: () => number | null;
};

const connectionTimes = {
  backoffMs: [1_000, 2_000, 5_000, 10_000],
  /** The server sends something at least every 25 s. */
  silenceMs: 40_000,
  /** Until the server answers. */
  connectMs: 10_000,
  /** The longest Retry-After that is honoured. */
  retryAfterMs: 300_000,
} as const;

type Ended =
  | { readonly why: 'broken' | 'timeout' }
  | { readonly why: 'bye'; readonly bye: Bye }
  | {
      readonly why: 'refused';
      readonly status: number;
      readonly message: string;
      /** The server's Retry-After in milliseconds; 0 without one. */
      readonly retryAfterMs: number;
    }
  | { readonly why: 'signed-out' };

export function createConnection(ports: ConnectionPorts): StreamConnection {
  let stopping: AbortController | null = null;
  let current: AbortController | null = null;
  let endWait: (() => void) | null = null;
  let watching: string | null = null;
  let lastEventId: string | null = null;
  let heardAt: number | null = null;
  let failures = 0;

  const begin = async (stopped: AbortSignal): Promise<void> => {
    while (!stopped.aborted) {
      if (failures === 0)
        ports.onStatus({ status: heardAt === null ? 'connecting' : 'reconnecting' });
      current = new AbortController();
      const ended = await visit(AbortSignal.any([stopped, current.signal]));
      if (stopped.aborted) return;
      if (current.signal.aborted) {
        failures = 0;
        continue;
      }
      const delayMs = await afterwards(ended);
      if (delayMs === null) {
        ports.onStatus({ status: 'idle' });
        stopping = null;
        return;
      }
      await waited(delayMs, stopped);
    }
  };

  const visit = async (signal: AbortSignal): Promise<Ended> => {
    const token = await ports.token();
    if (token === null) return { why: 'signed-out' };
    const quiet = silenceWatch();
    const opening = new AbortController();
    const openTimer = setTimeout(() => opening.abort(), connectionTimes.connectMs);
    try {
      const response = await answered(
        fetch(pathOf(watching), {
          headers: {
            accept: 'text/event-stream',
            authorization: `Bearer ${token}`,
            ...(lastEventId === null ? {} : { 'last-event-id': lastEventId }),
          },
          cache: 'no-store',
          credentials: 'same-origin',
          signal: AbortSignal.any([signal, quiet.signal, opening.signal]),
        }),
      );
      clearTimeout(openTimer);
      if (!response) return { why: opening.signal.aborted ? 'timeout' : 'broken' };
      if (!response.ok || !response.body) return await refusal(response);
      noteServerTime(response);
      // A resumed stream stays silent until something happens.
      ports.onStatus({ status: 'connected' });
      return await listen(response.body, quiet.heard);
    } finally {
      clearTimeout(openTimer);
      quiet.end();
    }
  };

  const listen = async (
    body: ReadableStream<Uint8Array<ArrayBuffer>>,
    heard: () => void,
  ): Promise<Ended> => {
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    const byes: Bye[] = [];
    const parser = createParser({ onEvent: (event) => hear(event, byes) });
    for (;;) {
      const part = await answered(reader.read());
      if (!part || part.done) return { why: 'broken' };
      heard();
      heardAt = Date.now();
      parser.feed(part.value);
      const [bye] = byes;
      if (!bye) continue;
      await answered(reader.cancel());
      return { why: 'bye', bye };
    }
  };

  const hear = (event: EventSourceMessage, byes: Bye[]): void => {
    failures = 0;
    const said = understood(event);
    if (said?.kind === 'bye') byes.push(said.bye);
    else if (said) ports.onMessage(said);
    if (event.id) lastEventId = event.id;
  };

  /** Milliseconds to wait before reopening, or null when the stream is over. */
  const afterwards = async (ended: Ended): Promise<number | null> => {
    switch (ended.why) {
      case 'signed-out':
        return null;
      case 'bye':
        if (ended.bye.reason === 'overflow') lastEventId = null;
        if (ended.bye.reason === 'token' || ended.bye.reason === 'session') await ports.renew();
        ports.onStatus({ status: 'reconnecting' });
        return ended.bye.retry_ms;
      case 'broken':
      case 'timeout':
        ports.onStatus(
          absence(ended.why === 'timeout' ? 'Connection timeout' : 'Connection failed'),
        );
        return backoff();
      case 'refused':
        if (ended.status === 401) {
          await ports.renew();
          return backoff();
        }
        if (ended.status === 404 && watching !== null) {
          ports.onMissing(watching);
          watching = null;
          return 0;
        }
        ports.onStatus({ status: 'error', message: ended.message });
        return Math.max(backoff(), laterThan(ended.retryAfterMs));
    }
  };

  const absence = (message: string): Connection => {
    if (!ports.isOnline()) return { status: 'offline' };
    return heardAt === null ? { status: 'error', message } : { status: 'reconnecting' };
  };

  const backoff = (): number => {
    const steps = connectionTimes.backoffMs;
    const base = steps[Math.min(failures, steps.length - 1)] ?? 0;
    failures += 1;
    return base * (0.75 + ports.random() / 2);
  };

  /** Never sooner than the server said, and spread so that clients do not return at once. */
  const laterThan = (delayMs: number): number => delayMs * (1 + ports.random() / 2);

  const waited = async (delayMs: number, stopped: AbortSignal): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    endWait = resolve;
    const timer = setTimeout(resolve, delayMs);
    stopped.addEventListener('abort', () => resolve(), { once: true });
    await promise;
    clearTimeout(timer);
    endWait = null;
  };

  const noteServerTime = (response: Response): void => {
    const serverMs = Date.parse(response.headers.get('date') ?? '');
    if (!Number.isNaN(serverMs)) ports.onServerTime(serverMs);
  };

  return {
    start() {
      if (stopping) return;
      stopping = new AbortController();
      void begin(stopping.signal);
    },
    pause() {
      stopping?.abort();
      stopping = null;
      failures = 0;
      ports.onStatus({ status: 'idle' });
    },
    watch(runId) {
      if (runId === watching) return;
      watching = runId;
      // Facts after the last id would refer to a run that is not loaded.
      if (runId !== null) lastEventId = null;
      current?.abort();
      endWait?.();
    },
    hurry: () => endWait?.(),
    lastHeardAt: () => heardAt,
  };
}

/** Null when the network failed or the page gave up: both lead to a retry. */
async function answered<T>(call: Promise<T>): Promise<T | null> {
  return call.catch(() => null);
}

function pathOf(watching: string | null): string {
  return watching === null
    ? '/api/stream'
    : `/api/stream?${new URLSearchParams({ optimization: watching }).toString()}`;
}

type SilenceWatch = { signal: AbortSignal; heard: () => void; end: () => void };

/** Aborts after too much silence: a dead connection looks like a quiet one. */
function silenceWatch(): SilenceWatch {
  const controller = new AbortController();
  const wait = () => setTimeout(() => controller.abort(), connectionTimes.silenceMs);
  let timer = wait();
  return {
    signal: controller.signal,
    heard: () => {
      clearTimeout(timer);
      timer = wait();
    },
    end: () => clearTimeout(timer),
  };
}

const Refusal = v.partial(ProblemReply);

async function refusal(response: Response): Promise<Ended> {
  const body: unknown = await response.json().catch(() => null);
  const problem = v.safeParse(Refusal, body);
  const message = (problem.success ? problem.output.message : undefined) ?? 'Connection failed';
  const seconds = Number(response.headers.get('retry-after') ?? 0);
  const retryAfterMs = seconds > 0 ? Math.min(seconds * 1000, connectionTimes.retryAfterMs) : 0;
  return { why: 'refused', status: response.status, message, retryAfterMs };
}

/** Null for pings and for messages of a newer server. */
function understood(
  event: EventSourceMessage,
): StreamMessage | { readonly kind: 'bye'; readonly bye: Bye } | null {
  switch (event.event) {
    case 'snapshot':
      return parsed(Snapshot, event, (snapshot) => ({ kind: 'snapshot', snapshot }));
    case 'fact':
      return parsed(Fact, event, (fact) => ({ kind: 'fact', fact }));
    case 'delta':
      return parsed(Delta, event, (delta) => ({ kind: 'delta', delta }));
    case 'stale':
      return parsed(Stale, event, ({ name }) => ({ kind: 'stale', name }));
    case 'bye':
      return parsed(Bye, event, (bye) => ({ kind: 'bye', bye }));
    default:
      return null;
  }
}

function parsed<Content, Said>(
  schema: v.GenericSchema<unknown, Content>,
  event: EventSourceMessage,
  say: (content: Content) => Said,
): Said | null {
  const result = v.safeParse(v.pipe(v.string(), v.parseJson(), schema), event.data);
  if (result.success) return say(result.output);
  console.error(
    'A message of the stream broke its contract',
    event.event,
    v.flatten(result.issues),
  );
  return null;
}

/** What users read about the connection. `agoMs` is the time since anything arrived. */
export function connectionWords(connection: Connection, agoMs: number | null): string {
  switch (connection.status) {
    case 'connected':
      return 'Connected';
    case 'idle':
    case 'connecting':
      return 'Connecting...';
    case 'reconnecting':
      return agoMs === null
        ? 'Connecting...'
        : `Reconnecting. Last update ${Math.max(0, Math.round(agoMs / 1000))}s ago.`;
    case 'offline':
      return "You're offline. The run continues, and this page will catch up.";
    case 'error':
      return `Error: ${connection.message}`;
  }
}
