import { fork, type ChildProcess } from 'node:child_process';
import cluster from 'node:cluster';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ReadyDetails, ReadyMessage } from './lifecycle.ts';
import type { Log } from './log.ts';

/**
 * Keeps services alive and stops them in reverse order. A service that ends without a stop request is
 * launched again after 1 s, 2 s, 4 s …. After five ends within a minute, or a final one, the supervisor
 * gives up, and the caller stops everything.
 */
export type Running = {
  details: ReadyDetails;
  /** Resolves when it has ended, for any reason; never rejects. */
  ended: Promise<Ending>;
  stop(): Promise<void>;
};

export type Ending =
  /** For messages: `exit code 1`, `SIGKILL`. */
  | { final: false; how: string }
  /** Another launch would end the same way. `line` is null when the service has printed why. */
  | { final: true; line: string | null };

export type Service = {
  name: string;
  /** Resolves when it is ready. Rejects with ServiceEnded; when aborted, leaves nothing behind. */
  launch(signal: AbortSignal): Promise<Running>;
};

export class ServiceEnded extends Error {
  override readonly name = 'ServiceEnded';
  readonly ending: Ending;

  constructor(ending: Ending) {
    super(ending.final ? (ending.line ?? 'ended for good') : ending.how);
    this.ending = ending;
  }
}

export type RestartPolicy = {
  firstDelayMs: number;
  windowMs: number;
  endsInWindow: number;
};

export const restartPolicy: RestartPolicy = {
  firstDelayMs: 1000,
  windowMs: 60_000,
  endsInWindow: 5,
};

/** Milliseconds to wait before the next launch, or null to give up; `endsMs` are times, newest last. */
export function restartDelay(
  endsMs: readonly number[],
  nowMs: number,
  policy: RestartPolicy = restartPolicy,
): number | null {
  const recent = endsMs.filter((endMs) => endMs > nowMs - policy.windowMs).length;
  if (recent >= policy.endsInWindow) return null;
  return policy.firstDelayMs * 2 ** Math.max(0, recent - 1);
}

/** `line` is null when the service has printed it. */
export type GivenUp = { line: string | null; exitCode: 1 | 2 };

export type Supervisor = {
  /**
   * Starts services in parallel; resolves with their details once all are ready. It never resolves when one
   * is given up; `givenUp` does.
   */
  start(...services: readonly Service[]): Promise<ReadyDetails[]>;
  /** Stops and launches again at once, without counting an end. */
  restart(name: string): Promise<void>;
  /** Stops the last started first. */
  stop(): Promise<void>;
  /** Resolves when a service cannot be kept alive. */
  givenUp: Promise<GivenUp>;
};

type Kept = {
  service: Service;
  running: Running | null;
  /** Ends a launch or a wait for good. */
  abort: AbortController;
  /** Ends a wait before a launch; null while there is none. */
  wait: AbortController | null;
  restarting: boolean;
  endsMs: number[];
  done: Promise<void>;
};

export function createSupervisor(log: Log, policy: RestartPolicy = restartPolicy): Supervisor {
  const groups: Kept[][] = [];
  const givenUp = Promise.withResolvers<GivenUp>();
  const stopping = new AbortController();

  function keep(service: Service): { kept: Kept; ready: Promise<ReadyDetails> } {
    const ready = Promise.withResolvers<ReadyDetails>();
    const kept: Kept = {
      service,
      running: null,
      abort: new AbortController(),
      wait: null,
      restarting: false,
      endsMs: [],
      done: Promise.resolve(),
    };
    kept.done = keepAlive(kept, ready.resolve);
    return { kept, ready: ready.promise };
  }

  async function keepAlive(kept: Kept, onReady: (details: ReadyDetails) => void): Promise<void> {
    const { service, abort } = kept;
    while (!stopping.signal.aborted && !abort.signal.aborted) {
      kept.restarting = false;
      const ending = await runOnce(kept, onReady);
      // From now on every end was requested: a signal may reach a whole group.
      if (stopping.signal.aborted) return;
      if (kept.restarting) continue;
      if (ending.final) {
        givenUp.resolve({ line: ending.line, exitCode: 2 });
        return;
      }
      kept.endsMs.push(Date.now());
      const delayMs = restartDelay(kept.endsMs, Date.now(), policy);
      if (delayMs === null) {
        const seconds = policy.windowMs / 1000;
        const line = `${service.name} ended ${policy.endsInWindow} times within ${seconds} seconds (${ending.how})`;
        givenUp.resolve({ line, exitCode: 1 });
        return;
      }
      log.warn(
        { child: service.name, reason: ending.how, duration_ms: delayMs },
        'Ended; restarting',
      );
      kept.wait = new AbortController();
      await pause(delayMs, AbortSignal.any([abort.signal, kept.wait.signal]));
      kept.wait = null;
    }
  }

  async function runOnce(kept: Kept, onReady: (details: ReadyDetails) => void): Promise<Ending> {
    try {
      const running = await kept.service.launch(kept.abort.signal);
      kept.running = running;
      // A stop request during the launch found nothing to stop yet.
      if (kept.abort.signal.aborted || kept.restarting) await running.stop();
      else onReady(running.details);
      return await running.ended;
    } catch (error) {
      if (error instanceof ServiceEnded) return error.ending;
      if (kept.abort.signal.aborted) return { how: 'stopped', final: false };
      log.error({ child: kept.service.name, err: error }, 'Could not be launched');
      return { how: 'Could not be launched', final: false };
    } finally {
      kept.running = null;
    }
  }

  async function stopOne(kept: Kept): Promise<void> {
    kept.abort.abort();
    await kept.running?.stop();
    await kept.done;
  }

  return {
    async start(...services) {
      const group = services.map(keep);
      groups.push(group.map(({ kept }) => kept));
      return Promise.all(group.map(({ ready }) => ready));
    },
    async restart(name) {
      const kept = groups.flat().find(({ service }) => service.name === name);
      if (kept === undefined) return;
      kept.restarting = true;
      kept.wait?.abort();
      await kept.running?.stop();
    },
    async stop() {
      stopping.abort();
      for (const group of groups.toReversed()) await Promise.all(group.map(stopOne));
    },
    givenUp: givenUp.promise,
  };
}

async function pause(delayMs: number, signal: AbortSignal): Promise<void> {
  try {
    await sleep(delayMs, undefined, { signal });
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

export type ProcessServiceOptions = {
  name: string;
  /** The file that Node runs; absolute path. */
  file: string;
  /** On top of our own. */
  variables: Readonly<Record<string, string>>;
  /** Sends what the process prints to stderr, for a command whose stdin and stdout are data. */
  printsToStderr?: boolean;
  /** Several processes listen on one port, which the supervisor holds for them. */
  sharesPort?: boolean;
  /** From SIGTERM to SIGKILL. */
  stopTimeoutMs?: number;
};

/** A Node process with a channel, which sends ReadyMessage (`lifecycle.ts`). */
export function processService(options: ProcessServiceOptions): Service {
  return {
    name: options.name,
    async launch(signal) {
      signal.throwIfAborted();
      const child = options.sharesPort === true ? forkSharing(options) : forkAlone(options);
      const ended = endOf(child);
      const stop = async (): Promise<void> => {
        child.kill('SIGTERM');
        const timer = setTimeout(() => child.kill('SIGKILL'), options.stopTimeoutMs ?? 15_000);
        await ended;
        clearTimeout(timer);
      };
      const stopEarly = (): void => void stop();
      signal.addEventListener('abort', stopEarly, { once: true });
      try {
        const details = await Promise.race([readyOf(child), ended.then(raise)]);
        return { details, ended, stop };
      } finally {
        signal.removeEventListener('abort', stopEarly);
      }
    },
  };
}

function forkAlone({ file, variables, printsToStderr }: ProcessServiceOptions): ChildProcess {
  return fork(file, [], {
    env: environmentOf(variables),
    ...(printsToStderr === true ? { stdio: ['ignore', process.stderr, 'inherit', 'ipc'] } : {}),
  });
}

function environmentOf(variables: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  return withNodeSettings({ ...process.env, ...variables });
}

/**
 * What a process reads once, at its start. Node hashes passwords and checks signatures on one pool of
 * threads, four by default. As many hashes run at once (`identity/passwords/passwords.ts`), so a burst of
 * logins would delay every call with a token. It lets new objects fill 128 MB before it frees most of
 * them. And glibc keeps the 19 MB of a hash, twice, for each of up to 16 arenas that threads have used.
 */
export function withNodeSettings(all: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return {
    ...all,
    // To us an empty value means unset; to Node it means one thread.
    UV_THREADPOOL_SIZE: all['UV_THREADPOOL_SIZE']?.trim() || String(poolThreads),
    MALLOC_ARENA_MAX: all['MALLOC_ARENA_MAX']?.trim() || arenas,
    // The last option counts, so an operator's own come after it.
    NODE_OPTIONS: `${nodeOptions} ${all['NODE_OPTIONS'] ?? ''}`.trim(),
  };
}

/** Four times the hashes at once. The Dockerfile has the same figures. */
const poolThreads = 16;

/** Forty-eight hashes, four at a time, took 360 MB without a limit and 41 MB with this one. */
const arenas = '2';

/** Two halves of 16 MB for new objects; `docs/decisions/0065-streams-on-the-socket.md` has the figures. */
const nodeOptions = '--max-semi-space-size=16';

/**
 * `cluster` keeps its settings for all forks, so they are set before each. The processes accept from one
 * shared socket: if the supervisor accepted connections, one on its way to a killed process would hang.
 */
function forkSharing({ file, variables }: ProcessServiceOptions): ChildProcess {
  cluster.schedulingPolicy = cluster.SCHED_NONE;
  cluster.setupPrimary({ exec: file, args: [] });
  return cluster.fork(environmentOf(variables)).process;
}

async function readyOf(child: ChildProcess): Promise<ReadyDetails> {
  const { promise, resolve } = Promise.withResolvers<ReadyDetails>();
  child.on('message', (message) => {
    if (isReadyMessage(message)) resolve(message.details);
  });
  return promise;
}

async function endOf(child: ChildProcess): Promise<Ending> {
  const { promise, resolve } = Promise.withResolvers<Ending>();
  child.once('error', (error) => resolve({ how: error.message, final: false }));
  child.once('exit', (code, signal) =>
    resolve(
      code === 2
        ? { final: true, line: null }
        : { final: false, how: signal ?? `exit code ${code}` },
    ),
  );
  return promise;
}

function isReadyMessage(message: unknown): message is ReadyMessage {
  return typeof message === 'object' && message !== null && 'type' in message
    ? message.type === 'ready' && 'details' in message
    : false;
}

function raise(ending: Ending): never {
  throw new ServiceEnded(ending);
}
