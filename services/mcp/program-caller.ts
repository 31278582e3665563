import type { OpenStreams } from '#services/live/open-streams.ts';
import type { SessionWatch } from '#services/live/session-watch.ts';
import { requireScope } from '#services/platform/http/auth.ts';
import type { HttpContext } from '#services/platform/http/http.ts';
import type { RateLimits } from '#services/platform/http/rate-limits.ts';
import type { KeyCaller } from '#services/platform/http/serve.ts';
import { Problem } from '#services/platform/problem.ts';
import { askRun, runOnce } from '#services/programs/ask.ts';
import type { AskDependencies } from '#services/programs/ask.ts';
import type { McpCaller } from './actions.ts';

export type ProgramDependencies = AskDependencies & {
  sessions: SessionWatch;
  openStreams: OpenStreams;
  rateLimits: RateLimits;
  /** Aborts when the process is to end: waits then end, and their clients ask another process. */
  stopping: AbortSignal;
};

/** A program that called with an API key. */
export function programCaller(
  dependencies: ProgramDependencies,
  context: HttpContext,
  { userId, apiKey, secret, sessionId }: KeyCaller,
): McpCaller {
  const { rateLimits, openStreams, sessions, stopping } = dependencies;
  return {
    userId,
    apiKey,
    requireScope: (scope) => requireScope(apiKey, scope),
    takeTurn: async (limit) => rateLimits.take(limit, userId, { userId }),
    ask: async (request) => {
      const { runId } = await askRun(dependencies, { userId, apiKey }, request, {
        apiKeyId: apiKey.id,
        secret,
        body: { tool: 'ask', ...request },
        idempotencyKey: undefined,
      });
      return runId;
    },
    async refineOnce({ runId, request, newId }, begin) {
      const asking = {
        apiKeyId: apiKey.id,
        secret,
        body: { tool: 'refine', runId, ...request },
        idempotencyKey: undefined,
      };
      const allow = async () => rateLimits.take('runs', userId, { userId });
      const { runId: id } = await runOnce(dependencies, asking, { newRunId: newId, allow, begin });
      return id;
    },
    wait() {
      const leave = openStreams.open({ userId, apiKey, address: context.get('address') });
      const ended = new AbortController();
      const unwatch = sessions.watch(sessionId, () => ended.abort(revoked()));
      const end = () => {
        unwatch();
        leave();
      };
      return { signal: AbortSignal.any([ended.signal, stopping]), end };
    },
  };
}

function revoked(): Problem {
  return new Problem('authentication-required', 'This API key has been revoked.');
}
