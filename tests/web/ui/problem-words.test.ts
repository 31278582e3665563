import { afterEach, describe, expect, test, vi } from 'vitest';
import { problems } from '#services/platform/problems.ts';
import { ApiProblem } from '#web/api/api.ts';
import { problemAction, problemSentence, waitSentence } from '#web/api/problem-words.ts';

const refused = (status: number, code: string, retryAfterSeconds: number | null = null) =>
  new ApiProblem({ status, code, message: 'In the words of the server.', retryAfterSeconds });

afterEach(() => vi.unstubAllGlobals());

describe('the words of a failed call', () => {
  test.each([
    [0, 'network', "We couldn't connect. Check your internet and try again.", 'retry'],
    [0, 'timeout', 'The server took too long to respond. Try again.', 'retry'],
    [0, 'unreadable-reply', "We couldn't read the server's response. Reload the page.", 'reload'],
    [400, 'validation', 'In the words of the server.', 'change'],
    [400, 'unknown', 'Request failed', 'change'],
    [401, 'unknown', 'Please sign in again.', 'sign-in'],
    [402, 'insufficient-credits', 'In the words of the server.', 'buy-credits'],
    [403, 'unknown', "You don't have access to do that.", 'none'],
    [403, 'monthly-limit', 'In the words of the server.', 'none'],
    [404, 'unknown', "We can't find that in your account.", 'none'],
    [409, 'unknown', 'This has changed since you opened it. Reload and try again.', 'reload'],
    [413, 'unknown', "That's too long to send.", 'change'],
    [500, 'internal', 'Something went wrong on our side. Please try again in a moment.', 'retry'],
    [502, 'unknown', 'Something went wrong on our side. Please try again in a moment.', 'retry'],
    [504, 'unknown', 'Something went wrong on our side. Please try again in a moment.', 'retry'],
  ])('a %i with the code %s is worded "%s", and %s helps', (status, code, sentence, action) => {
    expect(problemSentence(refused(status, code))).toBe(sentence);
    expect(problemAction(refused(status, code))).toBe(action);
  });

  const notFaults = Object.entries(problems).filter(([, status]) => status === 503);
  test.each(notFaults)('the server words %s itself, because it is no fault', (code) => {
    expect(problemSentence(refused(503, code))).toMatch(/^In the words of the server\./);
  });

  test.each([
    [429, 'rate-limited', 42, 'Too many attempts. Please try again in 42 seconds.'],
    [429, 'too-many-streams', null, 'Too many attempts. Please wait a moment before trying again.'],
    [503, 'paused', 7_200, 'In the words of the server. Please try again in 2 hours.'],
  ])('a %i with the code %s names the wait of %s seconds', (status, code, seconds, sentence) => {
    expect(problemSentence(refused(status, code, seconds))).toBe(sentence);
  });

  test('a lost connection of a device that is offline is worded as that', () => {
    vi.stubGlobal('navigator', { onLine: false });
    expect(problemSentence(refused(0, 'network'))).toBe(
      "You're offline. Try again once you reconnect.",
    );
  });

  test('an error of the page never shows its own message', () => {
    expect(problemSentence(new TypeError('x is not a function'))).toBe(
      'Something went wrong on this page.',
    );
  });

  test.each([
    [1, 'Please try again in 1 second.'],
    [89, 'Please try again in 89 seconds.'],
    [91, 'Please try again in 2 minutes.'],
    [0, 'Please wait a moment before trying again.'],
  ])('a wait of %i seconds is "%s"', (seconds, sentence) => {
    expect(waitSentence(seconds)).toBe(sentence);
  });
});
