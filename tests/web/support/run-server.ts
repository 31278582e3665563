import type { Balance } from '#services/credits/contract.ts';
import type { Delta, Fact } from '#services/live/contract.ts';
import { summarize } from '#services/optimizations/reading/describe.ts';
import { noon } from '#tests/optimizations/run/run-script.ts';
import { type Api, member, ok, problem, type Reply } from './site.ts';
import type { Story } from './run-story.ts';

/**
 * A server for one run: its copies, its stream, and the user's commands. The test decides how much
 * of the run is published and when the stream breaks.
 */
export type RunServer = {
  api: Api;
  /** Publishes the run up to so many events to every open stream. */
  publish: (events: number) => void;
  say: (delta: Delta) => void;
  /** Publishes a changed balance. */
  publishBalance: (after: Balance) => void;
  /** Breaks every open stream, like a bad network. */
  cut: () => void;
  /** Replaces the replies to the next commands. */
  answerCommands: (reply: Reply | null) => void;
  /** The ids from which the streams so far resumed. */
  resumed: (string | null)[];
  listening: () => number;
  watchers: () => number;
};

export const balance: Balance = {
  available_credits: 86,
  reserved_credits: 14,
  debt_credits: 0,
  spending_frozen: false,
  total_purchased: 0,
  total_consumed: 0,
  total_credits: 100,
  used_credits: 0,
};

export function runServer(story: Story, begin: number): RunServer {
  const encoder = new TextEncoder();
  const listeners = new Set<ReadableStreamDefaultController<Uint8Array>>();
  const watching = new Set<ReadableStreamDefaultController<Uint8Array>>();
  const resumed: (string | null)[] = [];
  let published = begin;
  let commandReply: Reply | null = null;

  const send = (event: string, data: unknown, id?: number): Uint8Array =>
    encoder.encode(
      `${id === undefined ? '' : `id: e.1.${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`,
    );

  const listen = (from: string | null, watched: boolean): Reply => {
    resumed.push(from);
    let listener: ReadableStreamDefaultController<Uint8Array> | undefined;
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        listener = controller;
        listeners.add(controller);
        if (watched) watching.add(controller);
        const known = from === null ? null : Number(from.split('.')[2]);
        if (known === null) {
          const run = story.copy(published);
          controller.enqueue(
            send(
              'snapshot',
              { balance, runs: [summarize(run.council)], ...(watched ? { run } : {}) },
              published,
            ),
          );
          return;
        }
        for (const fact of story.facts.slice(known, published))
          controller.enqueue(send('fact', fact, fact.version));
      },
      cancel: () => {
        if (!listener) return;
        listeners.delete(listener);
        watching.delete(listener);
      },
    });
    return { status: 200, body, headers: { 'content-type': 'text/event-stream' } };
  };

  const api: Api = (call) => {
    const { path, method } = call;
    if (path === '/api/stream')
      return listen(call.headers.get('last-event-id'), call.search !== '');
    if (path === '/api/credits/balance') return ok(balance);
    if (path === '/api/optimizations') {
      const data = [
        {
          ...summarize(story.view(published)),
          refinements: 0,
          newest_outcome: null,
          running_refinement_id: null,
        },
      ];
      const pagination = { page: 1, limit: 10, total: 1, total_pages: 1 };
      return { status: 200, body: { data, pagination } };
    }
    const { id } = story.view(1);
    if (path.startsWith(`/api/optimizations/${id}`)) {
      if (method === 'POST' && commandReply) return commandReply;
      return ok(story.copy(published));
    }
    if (path.startsWith('/api/optimizations/'))
      return problem(404, 'not-found', 'Failed to get optimization');
    return member(call);
  };

  return {
    api,
    resumed,
    listening: () => listeners.size,
    watchers: () => watching.size,
    publish(events) {
      const fresh = story.facts.slice(published, events);
      published = events;
      for (const listener of listeners)
        for (const fact of fresh) listener.enqueue(send('fact', fact, fact.version));
    },
    say(delta) {
      for (const listener of listeners) listener.enqueue(send('delta', delta));
    },
    publishBalance(after) {
      const fact: Fact = {
        type: 'CreditsReserved',
        at: noon,
        stream: 'credits-usr_1',
        version: 9,
        entity: { kind: 'account', id: 'usr_1' },
        patch: after,
      };
      for (const listener of listeners) listener.enqueue(send('fact', fact));
    },
    cut() {
      for (const listener of listeners) listener.error(new Error('cut'));
      listeners.clear();
      watching.clear();
    },
    answerCommands(reply) {
      commandReply = reply;
    },
  };
}
