import { addressOfRequest } from '#services/platform/http/client-address.ts';
import { authenticator } from '#services/identity/sessions/routes.ts';
import type { Tokens } from '#services/identity/sessions/tokens.ts';
import { socketPath } from '#services/live/socket/contract.ts';
import { openSockets } from '#services/live/socket/socketio.ts';
import type { StreamDependencies } from '#services/live/sse.ts';
import { describeRun } from '#services/optimizations/reading/describe.ts';
import { cancelRun, withProgress } from '#services/optimizations/routes.ts';
import { originsOf } from '#services/platform/http/cors.ts';
import type { ProcessContext } from '#services/platform/process/lifecycle.ts';
import type { OtherProtocol } from '#services/platform/process/listen.ts';
import { callerHeader, createPeers } from '#services/platform/http/peers.ts';
import type { RateLimits } from '#services/platform/http/rate-limits.ts';
import { headersOfBareAnswers } from '#services/platform/http/security-headers.ts';
import type { Core } from '#services/core.ts';

/** The sockets of one API process, at its port and at the private address for other processes. */
export type SocketPort = {
  protocol: OtherProtocol;
  /** Other processes find this one from then on. */
  open(): Promise<void>;
  /** Sends every connection away and ends. */
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
  const { pool, clock } = core;
  const peers = createPeers({
    pool,
    host: env.peerHost,
    keys: env.jwtKeys,
    path: socketPath,
    headers: headersOfBareAnswers({ isHttps: env.publicUrl.startsWith('https:') }),
    addressOf: (request) => addressOfRequest(request, env.trustedProxyHops),
    rateLimits: given.rateLimits,
    log,
  });
  const sockets = openSockets({
    ...given,
    authenticate: authenticator({ ...core, tokens: given.tokens }),
    origins: originsOf({ ...env, isLocal: env.mode === 'local' }),
    async readRun(runId) {
      const run = await core.readRun(runId);
      if (run === null || run.view.hidden) return null;
      return describeRun(await withProgress(pool, run.view), clock());
    },
    whileScored: (run) => describeRun({ ...run.council, stage: 'scoring' }, clock()),
    cancelRun: async (runId) => cancelRun(core, runId),
    apiProcesses: env.apiProcesses,
    newConnectionId: () => peers.newConnectionId(),
    callerOf: (request) => String(request.headers[callerHeader]),
    clock,
    log,
  });
  return {
    protocol: peers.atPort(sockets.server),
    open: async () => peers.open(sockets.server),
    async close() {
      await sockets.drain();
      await peers.close();
    },
  };
}
