import type { OpenStreams } from '#services/live/open-streams.ts';
import type { SessionWatch } from '#services/live/session-watch.ts';
import { isOpenStatus } from '#services/optimizations/contract/summary.ts';
import type { Catalogue } from '#services/models/catalogue.ts';
import { describeStrategies } from '#services/optimizations/create.ts';
import { refuseCookies } from '#services/platform/http/refuse-cookies.ts';
import { createRouter } from '#services/platform/http/http.ts';
import type { HttpContext } from '#services/platform/http/http.ts';
import type { RateLimits } from '#services/platform/http/rate-limits.ts';
import { refuseUnknownRoute, serve } from '#services/platform/http/serve.ts';
import type { KeyCaller, ServeDependencies } from '#services/platform/http/serve.ts';
import { askRun } from '#services/programs/ask.ts';
import type { AskDependencies } from '#services/programs/ask.ts';
import { followRun } from '#services/programs/follow.ts';
import type { FollowDependencies } from '#services/programs/follow.ts';
import { Problem } from '#services/platform/problem.ts';
import { problemOfRun } from './answer.ts';
import { openaiEndpoints } from './contract.ts';
import type { ChatRequest } from './contract.ts';
import { questionOf } from './request.ts';
import { replyBody, streamBody } from './bodies.ts';

/** `/v1`: the council in the shape of OpenAI's API. */
export type OpenAiDependencies = AskDependencies &
  FollowDependencies & {
    rateLimits: RateLimits;
    sessions: SessionWatch;
    openStreams: OpenStreams;
    publicUrl: string;
    productName: string;
  };

export function openAiRoutes(dependencies: OpenAiDependencies & ServeDependencies) {
  const { productName } = dependencies;
  const models = async () =>
    (await describeStrategies(dependencies, false)).map((strategy) => ({
      id: strategy.id,
      object: 'model' as const,
      created: pricesReadAt(dependencies.catalogue, strategy.seats),
      owned_by: productName,
      name: strategy.name,
      description: strategy.description,
      credits: strategy.credits,
      available: strategy.available,
    }));
  const router = createRouter().use(refuseCookies());
  router.route(
    '/',
    serve(
      openaiEndpoints,
      {
        'GET /models': async () => ({ object: 'list' as const, data: await models() }),
        'GET /models/{id}': async ({ path }) => {
          const found = (await models()).find(({ id }) => id === path.id);
          if (!found) throw new Problem('not-found', 'There is no such model.');
          return found;
        },
        'POST /chat/completions': async ({ context, body, ...caller }) =>
          complete(dependencies, context, caller, body),
      },
      dependencies,
    ),
  );
  router.all('*', refuseUnknownRoute(Object.keys(openaiEndpoints), '/v1'));
  return router;
}

/** Seconds since 1970; a strategy has no other date. */
function pricesReadAt({ modelOf }: Catalogue, seats: readonly { model: string }[]): number {
  const days = seats.flatMap(({ model }) => modelOf(model)?.prices.map((row) => row.readOn) ?? []);
  return Math.max(0, ...days.map((day) => Date.parse(day) / 1000));
}

/** Asks, and answers with a body that lasts as long as the run. */
async function complete(
  dependencies: OpenAiDependencies,
  context: HttpContext,
  { userId, apiKey, secret, sessionId }: KeyCaller,
  body: ChatRequest,
): Promise<Response> {
  const { openStreams, rateLimits, sessions, publicUrl, readDetail } = dependencies;
  const request = questionOf(body);
  await rateLimits.take('streams', userId);
  const leave = openStreams.open({ userId, apiKey, address: context.get('address') });
  try {
    const idempotencyKey = context.req.header('idempotency-key');
    const asking = { apiKeyId: apiKey.id, secret, body: request, idempotencyKey };
    const { runId, joined } = await askRun(dependencies, { userId, apiKey }, request, asking);
    context.header('x-run-id', runId);
    const run = await readDetail(runId);
    if (run === null) throw new Problem('not-found', 'The run was deleted.');
    // A run that failed before the response begins still has a status of its own.
    const problem = isOpenStatus(run.status) ? null : problemOfRun(run);
    if (problem) throw problem;
    const followed = {
      follow: (signal: AbortSignal) => followRun(dependencies, runId, signal),
      watchKey: (onEnd: () => void) => sessions.watch(sessionId, onEnd),
      leave,
      onFailure: (error: unknown) =>
        context.get('log').error({ err: error }, 'A chat completion failed'),
    };
    const isStream = body.stream === true;
    const includeUsage = body.stream_options?.include_usage === true;
    const stream = isStream
      ? streamBody(followed, { includeUsage })
      : replyBody(followed, { publicUrl, joined });
    return context.body(stream, 200, {
      'Content-Type': isStream ? 'text/event-stream; charset=utf-8' : 'application/json',
      'Cache-Control': 'no-store, no-transform',
      'X-Accel-Buffering': 'no',
    });
  } catch (error) {
    leave();
    throw error;
  }
}
