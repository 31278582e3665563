import cluster from 'node:cluster';
import { addressOfRequest } from '#services/platform/http/client-address.ts';
import { authenticator } from '#services/identity/sessions/routes.ts';
import type { Tokens } from '#services/identity/sessions/tokens.ts';
import { callerHeader, createEntrance } from '#services/live/socket/entrance.ts';
import { openSockets } from '#services/live/socket/socketio.ts';
import type { StreamDependencies } from '#services/live/sse.ts';
import { describeRun } from '#services/optimizations/reading/describe.ts';
import { cancelRun } from '#services/optimizations/commands.ts';
import { readDetail } from '#services/optimizations/detail.ts';
import { originsOf } from '#services/platform/http/cors.ts';
import type { ProcessContext } from '#services/platform/process/lifecycle.ts';
import type { OtherProtocol } from '#services/platform/process/listen.ts';
import type { RateLimits } from '#services/platform/http/rate-limits.ts';
import { headersOfBareAnswers } from '#services/platform/http/security-headers.ts';
import type { Core } from '#services/core.ts';

/** The sockets of one API process, at its port. */
export type SocketPort = {
  protocol: OtherProtocol;
  /** Closes every connection, so that its client reconnects to another process. */
  close(): Promise<void>;
};

export function createSocketPort(
  { env, log }: ProcessContext,
  core: Core,
  given: Pick<StreamDependencies, 'hub' | 'sessions' | 'openStreams' | 'ownerOf'> & {
    tokens: Tokens;
    rateLimits: RateLimits;
  },
): SocketPort {
  const { clock } = core;
  const sockets = openSockets({
    ...given,
    authenticate: authenticator({ ...core, tokens: given.tokens }),
    origins: originsOf({ ...env, isLocal: env.mode === 'local' }),
    readRun: async (runId) => readDetail(core, runId),
    whileScored: (run) => describeRun({ ...run.council, stage: 'scoring' }, clock()),
    cancelRun: async (runId) => cancelRun(core, runId),
    // A polling client must reach the same process each time, which one shared port cannot ensure.
    transports: cluster.isWorker && env.apiProcesses > 1 ? ['websocket'] : ['polling', 'websocket'],
    apiProcesses: env.apiProcesses,
    callerOf: (request) => String(request.headers[callerHeader]),
    clock,
    log,
  });
  const entrance = createEntrance({
    server: sockets.server,
    headers: headersOfBareAnswers({ isHttps: env.publicUrl.startsWith('https:') }),
    addressOf: (request) => addressOfRequest(request, env.trustedProxyHops),
    rateLimits: given.rateLimits,
    log,
  });
  return {
    protocol: entrance.protocol,
    async close() {
      await sockets.drain();
      entrance.close();
    },
  };
}
