import { setTimeout as sleep } from 'node:timers/promises';
import { loadEnv, SettingsError, type Env } from './env.ts';
import { createLog, type Log } from './log.ts';

/**
 * The life of a long-running process. It opens its resources in order and defers the closing of each; on a
 * stop request they close in reverse order, within a limit. Exit code 0 follows a stop request, 2 a wrong
 * setting (a restart would not help), 1 everything else.
 *
 * Under the supervisor there is a channel. The process stops on SIGTERM, or when the channel closes because
 * the supervisor was killed. Ctrl-C reaches every process of a terminal at once, so a process with a
 * channel ignores it and lets the supervisor stop its children in order.
 */
export type ProcessContext = {
  env: Env;
  log: Log;
  /** `resources.defer(close)` right after each open. */
  resources: AsyncDisposableStack;
};

/** Sent to the supervisor once the process is ready; plain JSON. */
export type ReadyDetails = Readonly<Record<string, string | number | null>>;

export type ReadyMessage = { type: 'ready'; details: ReadyDetails };

const closeTimeoutMs = 10_000;
/** For a process that is stopped while it opens to finish: what is half open cannot be closed. */
const openTimeoutMs = 5_000;

export async function runProcess(
  name: string,
  open: (context: ProcessContext) => Promise<ReadyDetails>,
): Promise<void> {
  const stopRequested = nextStopRequest({ leavesInterrupt: process.send !== undefined });
  const env = settingsOrExit();
  const log = createLog({ level: env.logLevel, process: name });
  process.on('uncaughtException', (error) => {
    log.fatal({ err: error }, 'Ended by an unhandled error');
    process.exit(1);
  });
  const resources = new AsyncDisposableStack();
  try {
    const opened = open({ env, log, resources });
    const first = await Promise.race([opened.then(() => 'opened'), stopRequested]);
    if (first === 'opened') {
      const message: ReadyMessage = { type: 'ready', details: await opened };
      // A supervisor that was killed hears nothing: the channel closes, which stops this process.
      process.send?.(message, undefined, undefined, () => undefined);
      await stopRequested;
    }
    setTimeout(() => {
      log.error('Did not close in time');
      process.exit(1);
    }, closeTimeoutMs).unref();
    if (first !== 'opened')
      await Promise.race([opened.catch(() => undefined), sleep(openTimeoutMs)]);
    await resources.disposeAsync();
    log.debug('Closed');
    await endProcess(0);
  } catch (error) {
    if (error instanceof SettingsError) exitWithLines(error.lines);
    log.fatal({ err: error }, 'Ended by an error');
    process.exit(1);
  }
}

/**
 * Ends this process after its output has been written: an exit would cut a slow pipe short. The sleep lets
 * compilations in the background end. One that waits for the main thread's garbage collection would block
 * Node's exit for ever (nodejs/node 54918).
 */
export async function endProcess(code: number): Promise<never> {
  await new Promise<void>((resolve) => process.stdout.write('', () => resolve()));
  await sleep(compilationsEndMs);
  process.exit(code);
}

const compilationsEndMs = 25;

/** Exits with one line on stderr for each bad variable. */
export function settingsOrExit(): Env {
  try {
    return loadEnv();
  } catch (error) {
    if (error instanceof SettingsError) exitWithLines(error.lines);
    throw error;
  }
}

export function exitWithLines(lines: readonly string[], code: number = 2): never {
  for (const line of lines) console.error(line);
  process.exit(code);
}

/**
 * Resolves with the reason to stop: a signal's name, or `disconnect` when the parent process has ended.
 * With `leavesInterrupt`, Ctrl-C is left to the parent.
 */
export async function nextStopRequest({ leavesInterrupt = false } = {}): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  for (const signal of ['SIGTERM', 'SIGHUP', 'SIGINT'] as const) {
    process.on(signal, () => {
      if (!(leavesInterrupt && signal === 'SIGINT')) resolve(signal);
    });
  }
  process.once('disconnect', () => resolve('disconnect'));
  return promise;
}
