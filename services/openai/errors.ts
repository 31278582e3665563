import { problemOf } from '#services/platform/http/http.ts';
import type { HttpContext } from '#services/platform/http/http.ts';
import { logWords } from '#services/platform/http/log-words.ts';
import type { Problem } from '#services/platform/problem.ts';
import type { ChatErrorReply } from './contract.ts';

const types: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  402: 'insufficient_quota',
  403: 'permission_error',
  404: 'not_found_error',
  429: 'rate_limit_error',
};

export function chatError({ status, code, message, extras }: Problem): ChatErrorReply {
  const type = types[status] ?? (status >= 500 ? 'server_error' : 'invalid_request_error');
  const param = extras.errors?.[0]?.field ?? '';
  return { error: { message, type, param: param === '' ? null : param, code } };
}

/** Beyond this a client that waits for `Retry-After` gives up anyway. */
const worthWaitingSeconds = 60;

/** The one place where something thrown under `/v1` becomes a response. */
export function answerChatError(error: unknown, context: HttpContext): Response {
  const problem = problemOf(error);
  if (problem.status >= 500)
    context.get('log').error({ err: error, code: problem.code }, logWords(error, context.req));
  const { retryAfterSeconds } = problem.extras;
  if (retryAfterSeconds !== undefined) context.header('Retry-After', String(retryAfterSeconds));
  // Clients of OpenAI retry 409 and 5xx automatically, also where the same request fails again.
  context.header('x-should-retry', String(isWorthRetrying(problem)));
  if (problem.status === 401) context.header('WWW-Authenticate', 'Bearer');
  return context.body(JSON.stringify(chatError(problem)), problem.status, {
    'Content-Type': 'application/json',
    'Cache-Control': 'no-store',
  });
}

function isWorthRetrying({ status, extras: { retryAfterSeconds } }: Problem): boolean {
  if (status === 500) return true;
  return retryAfterSeconds !== undefined && retryAfterSeconds <= worthWaitingSeconds;
}
