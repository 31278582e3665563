import { ApiProblem } from './api.ts';

/**
 * What users read when a call fails, by problem code, then by status. The server's own sentence
 * wins when it was written for users; internal causes never reach a screen.
 */
const sentenceByStatus: Readonly<Record<number, string>> = {
  0: 'Network error occurred.',
  401: 'Please sign in again.',
  403: 'This account may not do that.',
  404: 'It does not exist, or it is not yours.',
  409: 'It changed in the meantime. Reload and try again.',
  413: 'That is too long to send.',
  429: 'Too many attempts.',
};

/** One sentence for any error, with the server's Retry-After. */
export function problemSentence(error: unknown): string {
  if (!(error instanceof ApiProblem)) return 'Something went wrong on this page.';
  if (error.code === 'timeout') return 'The server took too long to answer.';
  if (error.status === 429) return `Too many attempts. ${waitSentence(error.retryAfterSeconds)}`;
  if (error.status >= 500) return 'The server had a problem. It has been written to its log.';
  if (error.status !== 0 && error.code !== 'unknown') return error.message;
  return sentenceByStatus[error.status] ?? 'Request failed';
}

/** "Try again in 42 s." for a known wait, else the specified sentence. */
export function waitSentence(seconds: number | null): string {
  if (seconds === null || seconds <= 0) return 'Please wait a moment before trying again.';
  if (seconds < 90) return `Please try again in ${seconds} s.`;
  return `Please try again in ${Math.ceil(seconds / 60)} minutes.`;
}
