import type pg from 'pg';
import { creditRoutes } from '#services/credits/routes.ts';
import type { CreditRouteDependencies } from '#services/credits/routes.ts';
import { authenticator, identityRoutes } from '#services/identity/routes.ts';
import type { IdentityDependencies } from '#services/identity/routes.ts';
import { streamRoutes } from '#services/live/sse.ts';
import type { StreamDependencies } from '#services/live/sse.ts';
import { optimizationRoutes } from '#services/optimizations/routes.ts';
import type { OptimizationRouteDependencies } from '#services/optimizations/routes.ts';
import { healthRoutes } from '#services/platform/health.ts';
import type { HealthDependencies } from '#services/platform/health.ts';
import {
  answerError,
  answerProblem,
  createRouter,
  notFound,
  requestLog,
} from '#services/platform/http.ts';
import type { Log } from '#services/platform/log.ts';
import { webPages } from '#services/web-pages.ts';
import type { WebPagesOptions } from '#services/web-pages.ts';

/** The one list of routes. Everything under /api is JSON or the stream; everything else is a page. */
export type AppDependencies = IdentityDependencies &
  CreditRouteDependencies &
  OptimizationRouteDependencies &
  StreamDependencies &
  HealthDependencies & { pool: pg.Pool; log: Log; web: WebPagesOptions | null };

export function createApp(dependencies: AppDependencies) {
  const authenticate = authenticator(dependencies);
  const api = createRouter()
    .route('/', healthRoutes(dependencies))
    .route('/', identityRoutes(dependencies, authenticate))
    .route('/', creditRoutes(dependencies, authenticate))
    .route('/', optimizationRoutes(dependencies, authenticate))
    .route('/', streamRoutes(dependencies, authenticate))
    .all('*', () => {
      throw notFound();
    });
  const app = createRouter();
  app.use(requestLog(dependencies.log));
  app.onError((error, context) => answerError(error, context));
  app.notFound((context) => answerProblem(notFound(), context));
  app.route('/api', api);
  if (dependencies.web) app.route('/', webPages(dependencies.web));
  return app;
}
