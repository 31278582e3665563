import type { MiddlewareHandler } from 'hono';
import { compress } from 'hono/compress';
import type pg from 'pg';
import type { ContactDependencies } from '#services/contact/messages.ts';
import { contactRoutes } from '#services/contact/routes.ts';
import { creditRoutes } from '#services/credits/routes.ts';
import type { CreditRouteDependencies } from '#services/credits/routes.ts';
import { ignoreCookiesOfKeys, withApiKeys } from '#services/identity/api-keys/authenticate.ts';
import { identityRoutes } from '#services/identity/routes.ts';
import type { IdentityDependencies } from '#services/identity/routes.ts';
import { serviceAuthenticator } from '#services/identity/service-tokens.ts';
import type { ServiceDependencies } from '#services/identity/service-tokens.ts';
import { authenticator, keySetRoutes } from '#services/identity/sessions/routes.ts';
import { devPages } from './dev-pages.ts';
import type { DevPagesOptions } from './dev-pages.ts';
import { streamRoutes } from '#services/live/sse.ts';
import type { StreamDependencies } from '#services/live/sse.ts';
import { mcpRoutes } from '#services/mcp/routes.ts';
import type { McpRouteDependencies } from '#services/mcp/routes.ts';
import { onboardingRoutes } from '#services/onboarding/routes.ts';
import type { OnboardingDependencies } from '#services/onboarding/onboarding.ts';
import { startRefusal } from '#services/optimizations/commands.ts';
import { optimizationRoutes } from '#services/optimizations/routes.ts';
import type { OptimizationRouteDependencies } from '#services/optimizations/routes.ts';
import type { PaymentDependencies } from '#services/payments/dependencies.ts';
import { answerChatError } from '#services/openai/errors.ts';
import { openAiRoutes } from '#services/openai/routes.ts';
import type { OpenAiDependencies } from '#services/openai/routes.ts';
import { paymentRoutes } from '#services/payments/routes.ts';
import { clientAddress } from '#services/platform/http/client-address.ts';
import { allowOrigins, originsOf } from '#services/platform/http/cors.ts';
import { refuseForeignCalls } from '#services/platform/http/csrf.ts';
import { platformEndpoints } from '#services/platform/contract.ts';
import { refuseUnknownRoute, serve } from '#services/platform/http/serve.ts';
import { healthHandlers } from '#services/platform/http/health.ts';
import type { HealthDependencies } from '#services/platform/http/health.ts';
import {
  answerError,
  answerProblem,
  createRouter,
  notFound,
  refuseLongAddresses,
  requestLog,
} from '#services/platform/http/http.ts';
import type { HttpEnv } from '#services/platform/http/http.ts';
import type { Log } from '#services/platform/process/log.ts';
import { recipeRoutes } from '#services/recipes/routes.ts';
import { limitByAddress } from '#services/platform/http/rate-limits.ts';
import type { RateLimits } from '#services/platform/http/rate-limits.ts';
import { securityHeaders } from '#services/platform/http/security-headers.ts';
import { securityText } from './security-text.ts';
import { webPages } from './pages.ts';
import { apiDocs } from './docs.ts';
import { endpoints } from './endpoints.ts';
import { openApiHandlers } from './openapi.ts';
import type { WebPagesOptions } from './pages.ts';

/** The one list of routes. Everything under /api is JSON or the stream; everything else is a page. */
export type AppDependencies = IdentityDependencies &
  ServiceDependencies &
  Omit<CreditRouteDependencies, 'startRefusal'> &
  OptimizationRouteDependencies &
  OnboardingDependencies &
  StreamDependencies &
  OpenAiDependencies &
  ContactDependencies &
  McpRouteDependencies &
  HealthDependencies & {
    payments: PaymentDependencies;
    pool: pg.Pool;
    log: Log;
    isLocal: boolean;
    publicUrl: string;
    corsOrigins: readonly string[];
    trustedProxyHops: number;
    rateLimits: RateLimits;
    /** Null where neither metrics nor traces are kept. */
    observeRequests: MiddlewareHandler<HttpEnv> | null;
    web: WebPagesOptions | null;
    /** Null in production. */
    dev: DevPagesOptions | null;
  };

/**
 * JSON and files, but not the stream, which must arrive as it is written. Nor the responses of `/api/auth/`:
 * they hold secrets beside text that a caller sent, and a compressed length leaks them (BREACH). These are
 * also the calls that a cookie authenticates.
 */
const compressed = compress({
  encoding: 'gzip',
  contentTypeFilter: /^(?:application\/json|text\/(?:csv|markdown))\b/,
});
const compressedExceptAuth: typeof compressed = (context, next) =>
  context.req.path.startsWith('/api/auth/') ? next() : compressed(context, next);

export function createApp(dependencies: AppDependencies) {
  const authenticate = withApiKeys(dependencies, authenticator(dependencies));
  const authenticateService = serviceAuthenticator(dependencies, authenticate, 'credits:consume');
  const all = { ...dependencies, authenticate, authenticateService };
  const origins = originsOf(dependencies);
  const limit = limitByAddress(dependencies.rateLimits, 'address');
  const api = createRouter()
    // `allowOrigins` answers a preflight, so it would reach no limit behind it.
    .use((context, next) => (context.req.method === 'OPTIONS' ? limit(context, next) : next()))
    .use(
      compressedExceptAuth,
      allowOrigins(origins),
      limit,
      ignoreCookiesOfKeys(),
      refuseForeignCalls(origins),
    )
    .route('/', serve(platformEndpoints, { ...healthHandlers(all), ...openApiHandlers(all) }, all))
    .route('/', identityRoutes(all))
    .route(
      '/',
      creditRoutes({
        ...all,
        startRefusal: async (userId, credits) =>
          startRefusal(dependencies, { userId, apiKey: null }, credits),
      }),
    )
    .route('/', paymentRoutes({ ...all, ...dependencies.payments }))
    .route('/', optimizationRoutes(all))
    .route('/', recipeRoutes(all))
    .route('/', contactRoutes(all))
    .route('/', onboardingRoutes(all))
    .route('/', streamRoutes(all))
    .all('*', refuseUnknownRoute(Object.keys(endpoints), '/api'));
  const app = createRouter();
  if (dependencies.observeRequests) app.use(dependencies.observeRequests);
  app.use(
    requestLog(dependencies.log),
    securityHeaders({ isHttps: dependencies.publicUrl.startsWith('https:') }),
    clientAddress(dependencies.trustedProxyHops),
    refuseLongAddresses(),
  );
  app.onError((error, context) =>
    context.req.path.startsWith('/v1/')
      ? answerChatError(error, context)
      : answerError(error, context),
  );
  app.notFound((context) => answerProblem(notFound(), context));
  app.route('/api', api);
  app.route('/v1', createRouter().use(limit).route('/', openAiRoutes(all)));
  app.route('/', mcpRoutes(all, origins.own));
  // Requests under /api and of programs were answered above.
  app.use(limitByAddress(dependencies.rateLimits, 'pages'));
  app.route('/', keySetRoutes(dependencies));
  app.route('/', securityText(dependencies));
  app.route('/', apiDocs(dependencies));
  if (dependencies.dev) app.route('/dev', devPages(dependencies.dev));
  if (dependencies.web) app.route('/', webPages(dependencies.web));
  return app;
}
