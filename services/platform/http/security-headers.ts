import type { MiddlewareHandler } from 'hono';
import type { HttpEnv } from './http.ts';

/**
 * Headers of every answer, pages and files included, whatever its route says. A route may bring a
 * content policy of its own; everything else gets one that allows nothing.
 */
export function securityHeaders({ isHttps }: { isHttps: boolean }): MiddlewareHandler<HttpEnv> {
  const headers = headersOfAll({ isHttps });
  return async (context, next) => {
    await next();
    // Afterwards, because a Response that a route builds does not carry headers set before.
    const sent = context.res.headers;
    for (const [name, value] of Object.entries(headers)) sent.set(name, value);
    sent.set('X-Request-Id', context.get('requestId'));
    if (!sent.has('Content-Security-Policy')) sent.set('Content-Security-Policy', nothingAllowed);
  };
}

const nothingAllowed = "default-src 'none'; frame-ancestors 'none'";

/** For responses that are neither a route's nor a page. */
export function headersOfBareAnswers(scheme: { isHttps: boolean }): Record<string, string> {
  return { ...headersOfAll(scheme), 'Content-Security-Policy': nothingAllowed };
}

function headersOfAll({ isHttps }: { isHttps: boolean }): Record<string, string> {
  return {
    ...(isHttps ? { 'Strict-Transport-Security': 'max-age=63072000; includeSubDomains' } : {}),
    'X-Content-Type-Options': 'nosniff',
    'Referrer-Policy': 'no-referrer',
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Cross-Origin-Resource-Policy': 'same-origin',
    'X-Permitted-Cross-Domain-Policies': 'none',
    'Permissions-Policy': deniedFeatures.map((feature) => `${feature}=()`).join(', '),
  };
}

/** Permissions that our pages never ask for. */
const deniedFeatures = [
  'accelerometer',
  'autoplay',
  'browsing-topics',
  'camera',
  'display-capture',
  'encrypted-media',
  'geolocation',
  'gyroscope',
  'hid',
  'idle-detection',
  'local-fonts',
  'magnetometer',
  'microphone',
  'midi',
  'payment',
  'screen-wake-lock',
  'serial',
  'usb',
  'xr-spatial-tracking',
] as const;
