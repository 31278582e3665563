import { setTimeout as sleep } from 'node:timers/promises';
import { loadEnv, SettingsError, type Env } from './env.ts';
import { createLog, type Log } from './log.ts';

/**
 * How a long-running process begins and ends. It opens what it needs, top to bottom, and defers the
 * closing of each; when it is told to stop, everything closes in reverse order, within a limit. It
 * ends with 0 when told to, with 2 when a setting is wrong (starting again would not help) and with 1
 * for everything else.
 *
 * Under the supervisor there is a channel, and that alone says when to stop: by SIGTERM, or by
 * closing when the supervisor was killed. Ctrl-C reaches every process of a terminal at once, so a
 * process with a channel leaves it to the supervisor, which stops its children in order.
 */
export type ProcessContext = {
  env: Env;
  log: Log;
  /** `resources.defer(close)` right after each thing that was opened. */
  resources: AsyncDisposableStack;
};

/** What the supervisor is told once the process does its work; plain JSON. */
export type ReadyDetails = Readonly<Record<string, string | number | null>>;

export type ReadyMessage = { type: 'ready'; details: ReadyDetails };

const closeTimeoutMs = 10_000;

export async function runProcess(
  name: string,
  open: (context: ProcessContext) => Promise<ReadyDetails>,
): Promise<void> {
  const stopRequested = nextStopRequest({ leavesInterrupt: process.send !== undefined });
  const env = settingsOrExit();
  const log = createLog({ level: env.logLevel, process: name });
  process.on('uncaughtException', (error) => {
    log.fatal({ err: error }, 'ended by an error that nobody handled');
    process.exit(1);
  });
  const resources = new AsyncDisposableStack();
  try {
    const opened = open({ env, log, resources });
    const first = await Promise.race([opened.then(() => 'opened'), stopRequested]);
    if (first === 'opened') {
      const message: ReadyMessage = { type: 'ready', details: await opened };
      process.send?.(message);
      await stopRequested;
    }
    setTimeout(() => {
      log.error('did not close in time');
      process.exit(1);
    }, closeTimeoutMs).unref();
    await resources.disposeAsync();
    log.debug('closed');
    await endProcess(0);
  } catch (error) {
    if (error instanceof SettingsError) exitWithLines(error.lines);
    log.fatal({ err: error }, 'could not go on');
    process.exit(1);
  }
}

/**
 * Ends this process once what it printed has left it: a pipe may take its time, and leaving at once
 * would cut a long answer short. The moment before that is for compilations in the background. One
 * that waits for the main thread to collect garbage is waited for in turn by Node's exit, for ever
 * (nodejs/node 54918), unless the main thread has been idle before.
 */
export async function endProcess(code: number): Promise<never> {
  await new Promise<void>((resolve) => process.stdout.write('', () => resolve()));
  await sleep(compilationsEndMs);
  process.exit(code);
}

const compilationsEndMs = 25;

/** Settings of this process, or the end of it with one line on stderr for each bad variable. */
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
 * Resolves with what asked this process to stop: a signal's name, or `disconnect` when whoever started
 * it with a channel is gone. With `leavesInterrupt`, Ctrl-C is left to that starter.
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
