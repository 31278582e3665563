import { setTimeout as sleep } from 'node:timers/promises';
import type { Socket } from 'socket.io';
import type { Hub, Subscription } from '#services/live/hub.ts';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import type { Log } from '#services/platform/process/log.ts';
import type { ServerEvents } from './contract.ts';
import { socketLimits } from './limits.ts';

/** The runs that connections of this process follow, each with one subscription of the hub. */
export type FollowedRuns = {
  /** Null when the connection follows as many as it may. */
  join(connection: Connection, runId: string, userId: string): FollowedRun | null;
  leave(connection: Connection, runId: string): void;
  leaveAll(connection: Connection): void;
};

export type FollowedRun = {
  /** Starts after the request for it, and serves every request made before it starts. */
  read: () => Promise<Optimization | null>;
  /** Sends the run as it is; nothing to a connection that has left. */
  send(connection: Connection, run: Optimization): void;
};

export type FollowDependencies = {
  hub: Hub;
  /** Null for a run that its owner no longer sees. */
  readRun: (runId: string) => Promise<Optimization | null>;
  /** The same run while its reviews were counted, a state that no read may have caught. */
  whileScored: (run: Optimization) => Optimization;
  log: Log;
};

export type Connection = Socket<Record<string, never>, ServerEvents>;

type Watch = {
  runId: string;
  subscription: Subscription;
  /** Whether each has received the scores; null before it has received anything. */
  connections: Map<Connection, boolean | null>;
  read: () => Promise<Optimization | null>;
  lastReadAt: () => number;
};

export function createFollowedRuns(dependencies: FollowDependencies): FollowedRuns {
  const { hub, readRun, log } = dependencies;
  const watches = new Map<string, Watch>();
  const followedBy = new Map<Connection, Set<string>>();

  const open = (runId: string, userId: string): Watch => {
    const watch: Watch = {
      runId,
      subscription: hub.subscribe({ userId, watching: runId }),
      connections: new Map(),
      ...createReads(async () => readRun(runId)),
    };
    watches.set(runId, watch);
    void follow(watch);
    return watch;
  };

  const follow = async (watch: Watch): Promise<void> => {
    let failed = false;
    for (;;) {
      const messages = failed ? [] : await watch.subscription.take();
      const overflowed = watch.subscription.overflowed();
      if (watch.connections.size === 0) return;
      if (messages.length === 0 && !overflowed && !failed) break;
      const happened =
        failed || overflowed || messages.some(({ fact }) => fact?.entity.kind === 'run');
      const quietFor = performance.now() - watch.lastReadAt();
      if (!happened && quietFor < socketLimits.textEveryMs) continue;
      try {
        const run = await watch.read();
        failed = false;
        for (const connection of watch.connections.keys()) {
          if (run === null) leave(connection, watch.runId);
          else send(watch, connection, run);
        }
      } catch (error) {
        log.warn({ err: error }, 'A run could not be read for its followers; trying again');
        failed = true;
        await sleep(socketLimits.readAgainMs);
      }
    }
    // This process is stopping; the clients reconnect to another one.
    for (const connection of watch.connections.keys()) connection.conn.close();
  };

  const send = (watch: Watch, connection: Connection, run: Optimization): void => {
    if (!watch.connections.has(connection)) return;
    const isScored = run.evolution.bias !== null;
    if (watch.connections.get(connection) === false && isScored)
      sendProgress(connection, dependencies.whileScored(run));
    watch.connections.set(connection, isScored);
    sendState(connection, run);
    if (run.status !== 'pending' && run.status !== 'processing') leave(connection, watch.runId);
  };

  const leave = (connection: Connection, runId: string): void => {
    followedBy.get(connection)?.delete(runId);
    const watch = watches.get(runId);
    if (watch === undefined || !watch.connections.delete(connection)) return;
    if (watch.connections.size > 0) return;
    watches.delete(runId);
    watch.subscription.end(null);
  };

  return {
    join(connection, runId, userId) {
      const followed = followedBy.get(connection) ?? new Set();
      if (connection.conn.readyState !== 'open') return null;
      if (!followed.has(runId) && followed.size >= socketLimits.subscriptions) return null;
      followedBy.set(connection, followed.add(runId));
      const watch = watches.get(runId) ?? open(runId, userId);
      if (!watch.connections.has(connection)) watch.connections.set(connection, null);
      return { read: watch.read, send: (to, run) => send(watch, to, run) };
    },
    leave,
    leaveAll(connection) {
      for (const runId of followedBy.get(connection) ?? []) leave(connection, runId);
      followedBy.delete(connection);
    },
  };
}

function createReads(
  readNow: () => Promise<Optimization | null>,
): Pick<Watch, 'read' | 'lastReadAt'> {
  let next: Promise<Optimization | null> | null = null;
  let lastAt = Number.NEGATIVE_INFINITY;
  const begin = async (): Promise<Optimization | null> => {
    await sleep(Math.max(0, lastAt + socketLimits.readEveryMs - performance.now()));
    next = null;
    lastAt = performance.now();
    return readNow();
  };
  return {
    read: async () => (next ??= begin()),
    lastReadAt: () => lastAt,
  };
}

function sendProgress(connection: Connection, { id, evolution, models }: Optimization): void {
  const { bias: _bias, ...progress } = evolution;
  connection.emit('optimization-progress', {
    optimizationId: id,
    stage: progress.current_step,
    progress: { ...progress, models },
  });
}

function sendState(connection: Connection, run: Optimization): void {
  const optimizationId = run.id;
  switch (run.status) {
    case 'completed':
      connection.emit('optimization-complete', { optimizationId, result: run });
      break;
    case 'failed':
      connection.emit('optimization-error', {
        optimizationId,
        error: run.ended_because ?? 'Optimization failed',
        code: run.council.conclusion?.reason ?? 'failed',
      });
      break;
    case 'cancelled':
      connection.emit('optimization-cancelled', { optimizationId, cancelled: true });
      break;
    case 'pending':
    case 'processing':
      sendProgress(connection, run);
  }
}
