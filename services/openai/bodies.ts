import type { Optimization } from '#services/optimizations/contract/run.ts';
import { isOpenStatus } from '#services/optimizations/contract/summary.ts';
import { problemOf } from '#services/platform/http/http.ts';
import { Problem } from '#services/platform/problem.ts';
import { chatReply, firstChunk, lastChunks, problemOfRun } from './answer.ts';
import { chatError } from './errors.ts';

/**
 * The bodies of responses that last as long as a run. Something is written every few seconds, because
 * proxies and clients give up on a connection without bytes.
 */
const keepAliveMs = 15_000;

export type Followed = {
  /** The run whenever it has changed, last as it ended. */
  follow: (signal: AbortSignal) => AsyncIterable<Optimization>;
  /** Calls back once when the API key has ended; returns how to stop watching. */
  watchKey: (onEnd: () => void) => () => void;
  /** After the last byte, or when the client has gone. */
  leave: () => void;
  onFailure: (error: unknown) => void;
};

/** JSON with white space before it. */
export function replyBody(
  followed: Followed,
  about: Parameters<typeof chatReply>[1],
): ReadableStream<Uint8Array> {
  return heldOpen(followed, ' ', {
    // Only the end of a run is written.
    changed: () => '',
    ended: (run) => JSON.stringify(chatReply(run, about)),
    failed: (problem) => JSON.stringify(chatError(problem)),
  });
}

/** Server-sent events as OpenAI's clients read them; they ignore the comments with the progress. */
export function streamBody(
  followed: Followed,
  { includeUsage }: { includeUsage: boolean },
): ReadableStream<Uint8Array> {
  let isBegun = false;
  const begin = (run: Optimization) => {
    if (isBegun) return '';
    isBegun = true;
    return dataLine(firstChunk(run));
  };
  return heldOpen(followed, ': waiting\n\n', {
    changed: (run) => `${begin(run)}${comment(run)}`,
    ended(run) {
      const problem = problemOfRun(run);
      if (problem) return dataLine(chatError(problem));
      const chunks = lastChunks(run, includeUsage).map(dataLine).join('');
      return `${begin(run)}${chunks}data: [DONE]\n\n`;
    },
    failed: (problem) => dataLine(chatError(problem)),
  });
}

function dataLine(value: object): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}

function comment({ evolution }: Optimization): string {
  return `: ${evolution.progress_percentage}% ${evolution.step_details}\n\n`;
}

type Words = {
  changed: (run: Optimization) => string;
  ended: (run: Optimization) => string;
  failed: (problem: Problem) => string;
};

/** Without backpressure: bodies are small, and the server cuts clients that stop reading. */
function heldOpen(
  { follow, watchKey, leave, onFailure }: Followed,
  keepAlive: string,
  words: Words,
): ReadableStream<Uint8Array> {
  const clientGone = new AbortController();
  const keyEnded = new AbortController();
  const unwatch = watchKey(() => keyEnded.abort());
  const run = async (write: (text: string) => void): Promise<void> => {
    const signal = AbortSignal.any([clientGone.signal, keyEnded.signal]);
    for await (const current of follow(signal)) {
      if (!isOpenStatus(current.status)) {
        write(words.ended(current));
        return;
      }
      write(words.changed(current));
    }
    if (clientGone.signal.aborted) return;
    write(
      words.failed(
        keyEnded.signal.aborted
          ? new Problem('authentication-required', 'This API key has ended.')
          : new Problem('not-found', 'The run was deleted.'),
      ),
    );
  };
  return new ReadableStream<Uint8Array>({
    async start(controller) {
      const write = (text: string) => {
        if (text !== '' && !clientGone.signal.aborted) controller.enqueue(encoder.encode(text));
      };
      // The first byte sends the headers.
      write(keepAlive);
      const timer = setInterval(() => write(keepAlive), keepAliveMs);
      void run(write)
        .catch((error: unknown) => {
          onFailure(error);
          write(words.failed(problemOf(error)));
        })
        .finally(() => {
          clearInterval(timer);
          unwatch();
          leave();
          if (!clientGone.signal.aborted) controller.close();
        });
    },
    cancel: () => clientGone.abort(),
  });
}

const encoder = new TextEncoder();
