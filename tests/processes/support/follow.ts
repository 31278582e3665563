import { createParser } from 'eventsource-parser';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Fact, Snapshot } from '#services/live/contract.ts';
import { applyPatch } from '#services/optimizations/reading/view.ts';
import type { RunView } from '#services/optimizations/reading/view.ts';
import { eventually } from '#tests/support/processes/processes.ts';

/**
 * A client of the stream like a browser's: it merges the facts, and after a broken connection it resumes
 * from its last id.
 */
export type Follower = AsyncDisposable & {
  /** The watched run according to the facts; null before the first snapshot. */
  run(): RunView | null;
  /** In the order received. */
  facts(): readonly Fact[];
  ids(): readonly string[];
  snapshots(): number;
  /** How often it has connected. */
  connections(): number;
  /** @throws when the run does not reach this state in time */
  until(what: string, found: (run: RunView) => boolean, timeoutMs?: number): Promise<RunView>;
};

export type FollowOptions = {
  /** The server of the next connection; called at each connection. */
  url: () => string;
  /** Called at each connection. */
  token: () => string;
  watching?: string;
  /** Drops the connection after so many facts; called at each connection. */
  patience?: () => number;
  /** Reconnects after so long without a byte, as a browser does. */
  silenceMs?: number;
};

export function follow(options: FollowOptions): Follower {
  const { watching } = options;
  const closing = new AbortController();
  const facts: Fact[] = [];
  const ids: string[] = [];
  let run: RunView | null = null;
  let lastEventId: string | null = null;
  let snapshots = 0;
  let connections = 0;

  const hear = ({ event, id, data }: { event: string; id: string | undefined; data: string }) => {
    if (event === 'snapshot') {
      snapshots += 1;
      run = (JSON.parse(data) as Snapshot).run?.council ?? null;
    }
    if (event === 'fact') {
      const fact = JSON.parse(data) as Fact;
      facts.push(fact);
      if (run !== null && fact.entity.kind === 'run' && fact.entity.id === watching)
        run = applyPatch(run, fact.patch, fact.version);
    }
    if (id !== undefined) {
      ids.push(id);
      lastEventId = id;
    }
  };

  const connect = async (): Promise<void> => {
    const leaving = new AbortController();
    const silent = options.silenceMs && setTimeout(() => leaving.abort(), options.silenceMs);
    try {
      await listen(leaving, () => silent && silent.refresh());
    } finally {
      clearTimeout(silent);
    }
  };

  const listen = async (leaving: AbortController, hearByte: () => void): Promise<void> => {
    const { url, token, patience } = options;
    const query = watching === undefined ? '' : `?optimization=${watching}`;
    const response = await fetch(`${url()}/api/stream${query}`, {
      headers: {
        authorization: `Bearer ${token()}`,
        ...(lastEventId === null ? {} : { 'last-event-id': lastEventId }),
      },
      signal: AbortSignal.any([closing.signal, leaving.signal]),
    });
    if (!response.ok || response.body === null)
      throw new Error(`The stream answered ${response.status}`);
    connections += 1;
    let left = patience?.() ?? Number.POSITIVE_INFINITY;
    const parser = createParser({
      onEvent({ event = '', id, data }) {
        if (left <= 0) return;
        hear({ event, id, data });
        if (event === 'fact') left -= 1;
      },
    });
    const decoder = new TextDecoder();
    for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
      hearByte();
      parser.feed(decoder.decode(chunk, { stream: true }));
      if (left <= 0) leaving.abort();
    }
  };

  const following = (async () => {
    while (!closing.signal.aborted) {
      // Broken connections are expected: it reconnects until it is closed.
      await connect().catch(() => undefined);
      if (!closing.signal.aborted) await sleep(100);
    }
  })();

  return {
    run: () => run,
    facts: () => facts,
    ids: () => ids,
    snapshots: () => snapshots,
    connections: () => connections,
    until: async (what, found, timeoutMs) =>
      eventually(what, () => (run !== null && found(run) ? run : null), timeoutMs),
    async [Symbol.asyncDispose]() {
      closing.abort();
      await following;
    },
  };
}
