import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { realpathSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as v from 'valibot';
import type { Problem } from '#services/platform/problem.ts';
import type { Log } from '#services/platform/process/log.ts';
import { fileProblem, macrosRefused } from './kind.ts';
import type { FileKind } from './kind.ts';
import { Outcome } from './outcome.ts';
import type { Unreadable } from './outcome.ts';
import { createFileQueue } from './queue.ts';
import type { FileQueue } from './queue.ts';

export type FileReader = {
  /**
   * The text of a file, at most `optimizationLimits.filesText` characters.
   *
   * @param asked.signal ends the reading of a file that is no longer wanted
   * @throws Problem 400 `aborted` after the signal, 415 `file-unreadable`, 503 `busy` while the
   *   user has another file of this sort (text, or PDF and Word) here, or too many others have
   */
  read(
    kind: FileKind,
    bytes: Buffer,
    asked: { userId: string; signal: AbortSignal },
  ): Promise<Extract<Outcome, { text: string }>>;
  /** Ends what is being read and what waits. */
  close(): void;
};

const limits = {
  fileMs: 10_000,
  heapMegabytes: 256,
  /** Of the whole process, whose buffers lie outside the heap. */
  memoryBytes: 512_000_000,
  memoryCheckMs: 50,
} as const;

/**
 * Reads each file in a process of its own: a file that takes too long, fills the memory or takes over
 * its parser ends with it, and reaches no other user's file. PDF and Word files are read one at a
 * time, because two could fill the memory. Text needs little of either and waits only for text.
 */
export function createFileReader({
  log,
  fileMs = limits.fileMs,
}: {
  log: Log;
  /** A file that takes longer is refused. */
  fileMs?: number;
}): FileReader {
  const parsed = createFileQueue();
  const plain = createFileQueue();
  const queues: Record<FileKind, FileQueue> = {
    text: plain,
    csv: plain,
    pdf: parsed,
    docx: parsed,
  };
  const closing = new AbortController();
  const outcomeOf = async (
    kind: FileKind,
    bytes: Buffer,
    signal: AbortSignal,
  ): Promise<Outcome | null> => {
    const child = startProcess(fileMs, signal);
    const { promise, resolve } = Promise.withResolvers<Outcome | null>();
    child.once('message', (message) => {
      const outcome = v.safeParse(Outcome, message);
      resolve(outcome.success ? outcome.output : null);
    });
    child.on('error', () => resolve(null));
    child.once('exit', () => resolve(null));
    child.send({ kind, bytes }, (error) => {
      if (error) resolve(null);
    });
    const memory = setInterval(() => void endWhenTooLarge(child), limits.memoryCheckMs);
    const outcome = await promise;
    clearInterval(memory);
    child.kill('SIGKILL');
    if (outcome === null && !signal.aborted) log.warn({ reason: kind }, 'A file ended its reader');
    return outcome;
  };
  return {
    async read(kind, bytes, { userId, signal: left }) {
      const signal = AbortSignal.any([left, closing.signal]);
      const outcome = await queues[kind].inTurn(userId, signal, async () =>
        outcomeOf(kind, bytes, signal),
      );
      if (outcome === null) throw unreadable('too_much');
      if ('unreadable' in outcome) throw unreadable(outcome.unreadable);
      return outcome;
    },
    close: () => closing.abort(),
  };
}

const root = join(import.meta.dirname, '../../..');

/**
 * Without our environment, which holds secrets. Node's permission model lets it read our code, and
 * write, start or load nothing. It binds no native code and leaves the network open, which only the
 * machine can limit (`docs/decisions/0047-files.md`).
 */
function startProcess(timeout: number, signal: AbortSignal): ChildProcess {
  const readable = ['services', 'node_modules', 'package.json'].map((path) => join(root, path));
  return fork(join(import.meta.dirname, 'reader-process.ts'), {
    env: {},
    execArgv: [
      `--max-old-space-size=${limits.heapMegabytes}`,
      '--permission',
      // A folder may be a link; the model asks for both names.
      ...readable
        .flatMap((path) => [path, realpathSync(path)])
        .map((path) => `--allow-fs-read=${path}`),
    ],
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    signal,
    timeout,
    killSignal: 'SIGKILL',
  });
}

/** Linux says how much memory a process has; elsewhere only the heap is bounded. */
async function endWhenTooLarge(child: ChildProcess): Promise<void> {
  const status = await readFile(`/proc/${child.pid}/status`, 'utf8').catch(() => '');
  const kilobytes = Number(/^VmRSS:\s*(\d+) kB$/m.exec(status)?.[1] ?? 0);
  if (kilobytes * 1024 > limits.memoryBytes) child.kill('SIGKILL');
}

const sentences: Readonly<Record<Unreadable, string>> = {
  damaged: 'This file is damaged, or not built as its format demands.',
  protected: 'This file has a password. Save it without one and add it again.',
  macros: macrosRefused,
  not_word: 'This file is named .docx, but is not a Word file.',
  not_text: 'This file is not text.',
  too_much: 'This file is too large or too complex to read. Add a shorter one, or paste the text.',
};

function unreadable(why: Unreadable): Problem {
  return fileProblem('file-unreadable', sentences[why]);
}
