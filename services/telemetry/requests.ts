import type { MiddlewareHandler } from 'hono';
import type { identityEndpoints } from '#services/identity/contract.ts';
import type { OpenStreams } from '#services/live/open-streams.ts';
import { routeOf } from '#services/platform/http/http.ts';
import type { HttpContext, HttpEnv } from '#services/platform/http/http.ts';
import type { Metrics } from '#services/platform/telemetry/registry.ts';
import type { Tracing } from '#services/platform/telemetry/tracing.ts';

export type RequestMetrics = ReturnType<typeof requestMetrics>;

export function requestMetrics(metrics: Metrics) {
  return {
    seconds: metrics.histogram({
      name: 'sevenfold_http_request_seconds',
      help: 'Seconds from a request to the beginning of its response, by method, route and class of status',
      labels: ['method', 'route', 'status'],
      buckets: [0.005, 0.025, 0.1, 0.25, 1, 2.5, 10],
    }),
    signIns: metrics.counter({
      name: 'sevenfold_sign_ins_total',
      help: 'Sign-ins by method and outcome: accepted, refused, limited (too many tries), invalid, failed',
      labels: ['method', 'outcome'],
    }),
    streams: metrics.gauge({
      name: 'sevenfold_streams_open',
      help: 'Event streams that this process has open',
    }),
    sockets: metrics.gauge({
      name: 'sevenfold_sockets_open',
      help: 'Sockets that this process has open',
    }),
  };
}

/** Counts every request and gives it a span; before all other middleware. */
export function observedRequests(
  metrics: RequestMetrics | null,
  tracing: Tracing,
): MiddlewareHandler<HttpEnv> {
  return async (context, next) => {
    const started = performance.now();
    const handle = async () => {
      await next();
      if (metrics !== null) count(metrics, context, (performance.now() - started) / 1_000);
    };
    // Asked every few seconds.
    if (!tracing.isOn || isHealth.test(context.req.path)) return handle();
    const headers = { traceparent: context.req.header('traceparent') };
    return tracing.inRequest({ headers }, async () => {
      await handle();
      const { status } = context.res;
      const { method, route } = endpointOf(context);
      return {
        name: `${method} ${route}`,
        attributes: {
          'http.request.method': method,
          'http.route': route,
          'http.response.status_code': status,
          'sevenfold.request_id': context.get('requestId'),
        },
        error: status >= 500 ? String(status) : null,
      };
    });
  };
}

const isHealth = /^\/api\/(?:health|ready)$/;

/** A client may send any method. */
const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

function endpointOf(context: HttpContext): { method: string; route: string } {
  const { method } = context.req;
  return { method: methods.has(method) ? method : 'other', route: routeOf(context) };
}

function count({ seconds, signIns }: RequestMetrics, context: HttpContext, took: number): void {
  const { method, route } = endpointOf(context);
  const { status } = context.res;
  seconds.observe({ method, route, status: `${Math.floor(status / 100)}xx` }, took);
  const signIn = signInMethods.get(`${method} ${route}`);
  if (signIn !== undefined) signIns.inc({ method: signIn, outcome: outcomeOf(status) });
}

const signInEndpoints = {
  'POST /auth/login': 'password',
  'POST /auth/exchange': 'link',
  'POST /auth/password/reset': 'reset',
} as const satisfies Partial<Record<keyof typeof identityEndpoints, string>>;

const signInMethods: ReadonlyMap<string, string> = new Map(
  Object.entries(signInEndpoints).map(([name, method]) => [name.replace(' ', ' /api'), method]),
);

function outcomeOf(status: number): string {
  if (status < 400) return 'accepted';
  if (status === 429) return 'limited';
  if (status >= 500) return 'failed';
  return status === 400 || status === 415 ? 'invalid' : 'refused';
}

/** The same limits, with each open place counted. */
export function countedStreams(
  streams: OpenStreams,
  gauge: RequestMetrics['streams' | 'sockets'] | null,
): OpenStreams {
  if (gauge === null) return streams;
  return {
    open(who) {
      const leave = streams.open(who);
      gauge.inc();
      let isOpen = true;
      return () => {
        if (isOpen) gauge.dec();
        isOpen = false;
        leave();
      };
    },
  };
}
