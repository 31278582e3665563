import type pg from 'pg';
import { creditRoutes } from '#services/credits/routes.ts';
import type { CreditRouteDependencies } from '#services/credits/routes.ts';
import { identityRoutes } from '#services/identity/routes.ts';
import type { IdentityDependencies } from '#services/identity/routes.ts';
import { accountRoutes } from '#services/identity/accounts/routes.ts';
import type { AccountDependencies } from '#services/identity/accounts/routes.ts';
import { requireService } from '#services/identity/service-tokens.ts';
import type { ServiceDependencies } from '#services/identity/service-tokens.ts';
import { authenticator, keySetRoutes, sessionRoutes } from '#services/identity/sessions/routes.ts';
import type { SessionRouteDependencies } from '#services/identity/sessions/routes.ts';
import { devPages } from './dev-pages.ts';
import type { DevPagesOptions } from './dev-pages.ts';
import { streamRoutes } from '#services/live/sse.ts';
import type { StreamDependencies } from '#services/live/sse.ts';
import { optimizationRoutes, startRefusal } from '#services/optimizations/routes.ts';
import type { OptimizationRouteDependencies } from '#services/optimizations/routes.ts';
import { usageRoutes } from '#services/optimizations/usage.ts';
import type { PaymentDependencies } from '#services/payments/dependencies.ts';
import { forgetRoutes } from '#services/payments/purchases/forget-routes.ts';
import { refundRoutes } from '#services/payments/refunds/routes.ts';
import { planRoutes } from '#services/payments/plans/routes.ts';
import { paymentRoutes } from '#services/payments/routes.ts';
import { statementRoutes } from '#services/payments/statement-routes.ts';
import { webhookRoutes } from '#services/payments/webhook-routes.ts';
import { clientAddress } from '#services/platform/http/client-address.ts';
import { compression } from '#services/platform/http/compression.ts';
import { cors, originsOf } from '#services/platform/http/cors.ts';
import { refuseForeignCalls } from '#services/platform/http/csrf.ts';
import type { Endpoint } from '#services/platform/contract.ts';
import { refuseUnknownRoute, routeOf } from '#services/platform/http/endpoints.ts';
import { healthRoutes } from '#services/platform/http/health.ts';
import type { HealthDependencies } from '#services/platform/http/health.ts';
import {
  answerError,
  answerProblem,
  createRouter,
  notFound,
  refuseLongAddresses,
  refuseUnknownQueries,
  requestLog,
} from '#services/platform/http/http.ts';
import type { Log } from '#services/platform/process/log.ts';
import { recipeRoutes } from '#services/recipes/routes.ts';
import { limitByAddress, limitReads } from '#services/platform/http/rate-limits.ts';
import type { RateLimits } from '#services/platform/http/rate-limits.ts';
import { securityHeaders } from '#services/platform/http/security-headers.ts';
import { webPages } from './pages.ts';
import { apiDocs } from './docs.ts';
import { endpoints } from './endpoints.ts';
import { openApiRoutes } from './openapi.ts';
import type { WebPagesOptions } from './pages.ts';

/** The one list of routes. Everything under /api is JSON or the stream; everything else is a page. */
export type AppDependencies = IdentityDependencies &
  AccountDependencies &
  SessionRouteDependencies &
  ServiceDependencies &
  Omit<CreditRouteDependencies, 'startRefusal'> &
  OptimizationRouteDependencies &
  StreamDependencies &
  HealthDependencies & {
    payments: PaymentDependencies;
    pool: pg.Pool;
    log: Log;
    isLocal: boolean;
    publicUrl: string;
    corsOrigins: readonly string[];
    trustedProxyHops: number;
    rateLimits: RateLimits;
    web: WebPagesOptions | null;
    /** Null in production. */
    dev: DevPagesOptions | null;
  };

/** Everywhere else a query is refused. */
const routesWithQuery = Object.entries<Endpoint>(endpoints)
  .filter(([, { query }]) => query !== undefined)
  .map(([name]) => routeOf(name, '/api'));

export function createApp(dependencies: AppDependencies) {
  const authenticate = authenticator(dependencies);
  const origins = originsOf(dependencies);
  const payments = { ...dependencies, ...dependencies.payments };
  const api = createRouter()
    .use(
      compression(),
      cors(origins),
      limitByAddress(dependencies.rateLimits, 'address'),
      limitReads(dependencies.rateLimits),
      refuseForeignCalls(origins),
      refuseUnknownQueries(routesWithQuery),
    )
    .route('/', healthRoutes(dependencies))
    .route('/', accountRoutes(dependencies, authenticate))
    .route('/', identityRoutes(dependencies, authenticate))
    .route('/', sessionRoutes(dependencies, authenticate))
    .route(
      '/',
      creditRoutes(
        {
          ...dependencies,
          startRefusal: async (userId, credits) => startRefusal(dependencies, userId, credits),
        },
        authenticate,
        requireService(dependencies, authenticate, 'credits:consume'),
      ),
    )
    .route('/', paymentRoutes(payments, authenticate))
    .route('/', refundRoutes(payments, authenticate))
    .route('/', forgetRoutes(payments, authenticate))
    .route('/', planRoutes(payments, authenticate))
    .route('/', statementRoutes(dependencies, authenticate))
    .route('/', webhookRoutes(payments))
    // Before the runs, of which it would else be taken for one.
    .route('/', usageRoutes(dependencies, authenticate))
    .route('/', optimizationRoutes(dependencies, authenticate))
    .route('/', recipeRoutes(dependencies, authenticate))
    .route('/', streamRoutes(dependencies, authenticate))
    .route('/', openApiRoutes(dependencies))
    .all('*', refuseUnknownRoute(Object.keys(endpoints), '/api'));
  const app = createRouter();
  app.use(
    requestLog(dependencies.log),
    securityHeaders({ isHttps: dependencies.publicUrl.startsWith('https:') }),
    clientAddress(dependencies.trustedProxyHops),
    refuseLongAddresses(),
  );
  app.onError((error, context) => answerError(error, context));
  app.notFound((context) => answerProblem(notFound(), context));
  app.route('/api', api);
  // Nothing under /api comes this far.
  app.use(limitByAddress(dependencies.rateLimits, 'pages'));
  app.route('/', keySetRoutes(dependencies));
  app.route('/', apiDocs(dependencies));
  if (dependencies.dev) app.route('/dev', devPages(dependencies.dev));
  if (dependencies.web) app.route('/', webPages(dependencies.web));
  return app;
}
