import type { ClientBase } from 'pg';
import { startListening } from '#db/listen.ts';
import { readStream } from '#db/streams.ts';
import { readAsOfOneMoment } from '#db/reader.ts';
import { readBalance } from '#projections/credit-account.ts';
import { creditAnalytics } from '#projections/credit-analytics.ts';
import { ownerOfRun, shownRun } from '#projections/optimization-list.ts';
import { runUsage } from '#projections/run-usage.ts';
import { creditFacts } from '#services/credits/facts.ts';
import { createHub } from '#services/live/hub.ts';
import { endedApiKeys } from '#services/identity/api-keys/api-keys.ts';
import { endedSessions } from '#services/identity/sessions/sessions.ts';
import { liveLimits } from '#services/live/limits.ts';
import { createOpenStreams } from '#services/live/open-streams.ts';
import { startSessionWatch } from '#services/live/session-watch.ts';
import type { StreamDependencies } from '#services/live/sse.ts';
import { startStaleHints } from '#services/live/stale.ts';
import { startTextFeed } from '#services/live/text-feed.ts';
import { runFacts } from '#services/optimizations/reading/facts.ts';
import { listRuns } from '#services/optimizations/reading/list.ts';
import { withRefinements } from '#services/optimizations/refinement/facts.ts';
import { createReadRun, withProgress } from '#services/optimizations/reading/read-run.ts';
import { describeRun } from '#services/optimizations/reading/describe.ts';
import { withTicks } from '#services/optimizations/reading/next-steps.ts';
import type { ProcessContext } from '#services/platform/process/lifecycle.ts';
import { perProcess } from '#services/platform/limits.ts';
import type { Core } from '#services/core.ts';
import { userOf } from '#services/credits/account/events.ts';
import { runIdOf } from '#services/optimizations/run/events.ts';

const runPrefix = 'optimization-';

/** The live view of one API process: its listener, its hub and its snapshots. */
export async function openLiveView(
  { env, log, resources }: ProcessContext,
  { url, pool, epoch, sealer, clock, registry, catalogue: { modelOf } }: Core,
): Promise<Omit<StreamDependencies, 'rateLimits'>> {
  const listener = startListening({
    url,
    onReconnect: (reason) => log.warn({ err: reason }, 'Listening starts again'),
  });
  resources.defer(async () => listener.close());
  const hub = await createHub({
    pool,
    epoch,
    wake: listener.onWake,
    keys: env.jwtKeys,
    log,
    // Facts are built only while their user is connected: the moment to remember that user's figures.
    sources: [
      {
        streamPrefix: 'credits-',
        ownerOf: async (stream) => userOf(stream),
        factsOf(recorded) {
          hints.noticed(recorded);
          return creditFacts(recorded);
        },
      },
      {
        streamPrefix: runPrefix,
        ownerOf: async (stream) => ownerOfRun(pool, runIdOf(stream)),
        async factsOf(recorded) {
          hints.noticed(recorded);
          return runFacts(sealer, recorded);
        },
      },
    ],
  });
  const hints = startStaleHints({
    pool,
    projections: [creditAnalytics, runUsage],
    ownerOf: async (stream) =>
      stream.startsWith(runPrefix) ? ownerOfRun(pool, runIdOf(stream)) : userOf(stream),
    notify: (userId, bytes) => hub.notify(userId, bytes),
    log,
  });
  resources.defer(async () => hints.close());
  resources.defer(async () => hub.close());
  const feed = startTextFeed({ pool, sealer, hub, log });
  resources.defer(async () => feed.close());
  const sessions = startSessionWatch({
    ended: async (ids) => {
      const keys = ids.filter((id) => id.startsWith('key_'));
      const sessionIds = ids.filter((id) => !id.startsWith('key_'));
      return [
        ...(sessionIds.length > 0 ? await endedSessions(pool, sessionIds, new Date(clock())) : []),
        ...(keys.length > 0 ? await endedApiKeys(pool, keys) : []),
      ];
    },
    log,
  });
  resources.defer(async () => sessions.close());

  const snapshotIn = async (client: ClientBase, userId: string, watching: string | null) => {
    const readRun = createReadRun({
      readStream: async (id) => readStream(client, id),
      sealer,
      modelOf,
    });
    const balance = await readBalance(client, userId);
    const page = await listRuns({ pool: client, sealer }, userId, {
      page: 1,
      limit: liveLimits.runsInSnapshot,
      sort: 'newest',
      q: '',
    });
    const run = watching === null ? null : await readRun(watching);
    const view = run && (await withProgress(client, run.view));
    return { balance, runs: page.data, view };
  };
  return {
    pool,
    hub,
    sessions,
    openStreams: createOpenStreams(
      env.rateLimits === 'off'
        ? { perPerson: Number.POSITIVE_INFINITY, perAddress: Number.POSITIVE_INFINITY }
        : {
            perPerson: perProcess(liveLimits.openPerPerson, env.apiProcesses),
            perAddress: perProcess(liveLimits.openPerAddress, env.apiProcesses),
          },
    ),
    drainedWithinMs: liveLimits.drainedWithinMs,
    clock,
    ownerOf: async (runId) => (await shownRun(pool, runId))?.userId ?? null,
    async snapshot(userId, watching) {
      const { cursor, view, ...lists } = await readAsOfOneMoment(
        pool,
        ['credit_account', 'optimization_list'],
        async (client, at) => ({ cursor: at, ...(await snapshotIn(client, userId, watching)) }),
      );
      if (view === null) return { cursor, snapshot: lists };
      // A provider is asked for its models, which must not hold the transaction open.
      const readRun = createReadRun({
        readStream: async (id) => readStream(pool, id),
        sealer,
        modelOf,
      });
      const run = await withRefinements({ pool, registry, sealer, readRun }, userId, view);
      return {
        cursor,
        snapshot: { ...lists, run: await withTicks(pool, describeRun(run, clock())) },
      };
    },
  };
}
