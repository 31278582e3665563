import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import pLimit from 'p-limit';
import * as v from 'valibot';
import { Problem } from '#services/platform/problem.ts';
import type { Log } from '#services/platform/process/log.ts';
import type { FileKind } from './kind.ts';
import { Outcome } from './outcome.ts';
import type { Unreadable } from './outcome.ts';

export type FileReader = {
  /**
   * The text of a file, at most `optimizationLimits.filesText` characters.
   * @throws Problem 415 `file-unreadable`, 503 `busy` when too many wait
   */
  read(kind: FileKind, bytes: Buffer): Promise<Extract<Outcome, { text: string }>>;
  /** Ends the process that reads. */
  close(): void;
};

const limits = {
  fileMs: 10_000,
  heapMegabytes: 256,
  /** Of the whole process, whose buffers lie outside the heap. */
  memoryBytes: 512_000_000,
  memoryCheckMs: 50,
  waiting: 8,
  retryAfterSeconds: 5,
} as const;

/**
 * Reads files one at a time, each in a process of its own: a file that takes too long, fills the memory
 * or takes over its parser ends with it, and reaches no other user's file.
 */
export function createFileReader({
  log,
  fileMs = limits.fileMs,
}: {
  log: Log;
  /** A file that takes longer is refused. */
  fileMs?: number;
}): FileReader {
  const oneAtATime = pLimit(1);
  let reading: ChildProcess | null = null;
  let isClosed = false;
  const outcomeOf = async (kind: FileKind, bytes: Buffer): Promise<Outcome | null> => {
    if (isClosed) return null;
    const child = startProcess(fileMs);
    reading = child;
    const { promise, resolve } = Promise.withResolvers<Outcome | null>();
    child.once('message', (message) => {
      const outcome = v.safeParse(Outcome, message);
      resolve(outcome.success ? outcome.output : null);
    });
    child.once('error', () => resolve(null));
    child.once('exit', () => resolve(null));
    child.send({ kind, bytes }, (error) => {
      if (error) resolve(null);
    });
    const memory = setInterval(() => void endWhenTooLarge(child), limits.memoryCheckMs);
    const outcome = await promise;
    clearInterval(memory);
    child.kill('SIGKILL');
    reading = null;
    if (outcome === null) log.warn({ reason: kind }, 'A file ended its reader');
    return outcome;
  };
  return {
    async read(kind, bytes) {
      if (oneAtATime.pendingCount >= limits.waiting)
        throw new Problem('busy', 'Too many files are being read right now. Please try again.', {
          retryAfterSeconds: limits.retryAfterSeconds,
        });
      const outcome = await oneAtATime(async () => outcomeOf(kind, bytes));
      if (outcome === null) throw unreadable('too_much');
      if ('unreadable' in outcome) throw unreadable(outcome.unreadable);
      return outcome;
    },
    close() {
      isClosed = true;
      reading?.kill('SIGKILL');
    },
  };
}

const root = join(import.meta.dirname, '../../..');

/** Without our environment, which holds secrets; it may read our code, and write, start or load nothing. */
function startProcess(timeout: number): ChildProcess {
  const readable = ['services', 'node_modules', 'package.json'];
  return fork(join(import.meta.dirname, 'reader-process.ts'), {
    env: {},
    execArgv: [
      `--max-old-space-size=${limits.heapMegabytes}`,
      '--permission',
      ...readable.map((path) => `--allow-fs-read=${join(root, path)}`),
    ],
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
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
  macros: 'Word files with macros are not accepted. Save it as .docx and add it again.',
  not_word: 'This file is named .docx, but is not a Word file.',
  not_text: 'This file is not text.',
  too_much: 'This file is too large or too complex to read. Add a shorter one, or paste the text.',
};

function unreadable(why: Unreadable): Problem {
  const message = sentences[why];
  return new Problem('file-unreadable', message, { errors: [{ field: 'file', message }] });
}
