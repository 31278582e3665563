import { ApiProblem } from './api.ts';

/** What helps after a failure. `none`: the same call would fail again. */
export type ProblemAction =
  | 'retry'
  | 'wait'
  | 'sign-in'
  | 'buy-credits'
  | 'change'
  | 'reload'
  | 'none';

/**
 * What users read when a call fails, and what helps. The row of a code comes before the row of its
 * status. Null: the server's own sentence, which it wrote for users. Internal causes never reach a
 * screen.
 */
const table: Readonly<Record<string, readonly [sentence: string | null, action: ProblemAction]>> = {
  offline: ["You're offline. Try again once you reconnect.", 'retry'],
  network: ["We couldn't connect. Check your internet and try again.", 'retry'],
  timeout: ['The server took too long to respond. Try again.', 'retry'],
  'unreadable-reply': ["We couldn't read the server's response. Reload the page.", 'reload'],
  400: ['Request failed', 'change'],
  401: ['Please sign in again.', 'sign-in'],
  402: ['Request failed', 'buy-credits'],
  403: ["You don't have access to do that.", 'none'],
  404: ["We can't find that in your account.", 'none'],
  409: ['This has changed since you opened it. Reload and try again.', 'reload'],
  413: ["That's too long to send.", 'change'],
  415: ['Request failed', 'change'],
  429: ['Too many attempts.', 'wait'],
  500: ['Something went wrong on our side. Please try again in a moment.', 'retry'],
  // Not faults: each is written for users.
  busy: [null, 'wait'],
  'models-unavailable': [null, 'wait'],
  paused: [null, 'wait'],
  'payment-provider': [null, 'wait'],
  'payments-unavailable': [null, 'none'],
};

function rowOf({ status, code }: ApiProblem): (typeof table)[string] {
  if (code === 'network' && 'onLine' in navigator && !navigator.onLine)
    return table['offline'] ?? unknown;
  return table[code] ?? table[Math.min(status, 500)] ?? unknown;
}

const unknown = ['Request failed', 'retry'] as const;

/** One sentence for any error, with the server's Retry-After. */
export function problemSentence(error: unknown): string {
  if (!(error instanceof ApiProblem)) return 'Something went wrong on this page.';
  const [sentence, action] = rowOf(error);
  const isOwn = error.status > 0 && error.status < 500 && error.code !== 'unknown';
  const said = sentence === null || (isOwn && action !== 'wait') ? error.message : sentence;
  if (action !== 'wait' || /again|later/i.test(said)) return said;
  return `${said} ${waitSentence(error.retryAfterSeconds)}`;
}

export function problemAction(error: unknown): ProblemAction {
  return error instanceof ApiProblem ? rowOf(error)[1] : 'retry';
}

/** "Please try again in 42 seconds." for a known wait, else the specified sentence. */
export function waitSentence(seconds: number | null): string {
  if (seconds === null || seconds <= 0) return 'Please wait a moment before trying again.';
  if (seconds < 90)
    return `Please try again in ${seconds} ${seconds === 1 ? 'second' : 'seconds'}.`;
  const minutes = Math.ceil(seconds / 60);
  return minutes < 120
    ? `Please try again in ${minutes} minutes.`
    : `Please try again in ${Math.ceil(minutes / 60)} hours.`;
}
