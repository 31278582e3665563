import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

/**
 * The sentences of the specification's error catalogue that concern these pages, and where users
 * read each. `logged` marks an internal cause: it stands in the log of the server or in the console
 * of the browser, and users read the page's own sentence.
 */
type Place = { words: string; place: string; isLogged: boolean };
const catalogue: readonly (readonly [string, string] | readonly [string, string, 'logged'])[] = [
  ['Request failed', 'web/src/api/problem-words.ts'],
  // The message of the client's error; `problemSentence` words it for users.
  ['Network error occurred', 'web/src/api/api.ts'],
  ['Email already in use', 'services/identity/refusals.ts'],
  [
    'An account with this email already exists. Try signing in instead.',
    'services/identity/refusals.ts',
  ],
  ['Invalid email address', 'services/identity/refusals.ts'],
  ['Please enter a valid email address.', 'services/identity/refusals.ts'],
  ['Password too short', 'services/identity/refusals.ts'],
  ['Password must be at least 8 characters long.', 'services/identity/refusals.ts'],
  ['Password too weak', 'services/identity/refusals.ts'],
  [
    'Please choose a stronger password with uppercase, lowercase, and numbers.',
    'services/identity/refusals.ts',
  ],
  ['Password error', 'web/src/features/identity/signup-refusal.ts'],
  ['Too many attempts', 'web/src/features/identity/signup-refusal.ts'],
  ['Please wait a moment before trying again.', 'web/src/api/problem-words.ts'],
  ['Connection error', 'web/src/features/identity/signup-refusal.ts'],
  [
    'Please check your internet connection and try again.',
    'web/src/features/identity/signup-refusal.ts',
  ],
  ['Sign up failed', 'web/src/features/identity/signup-refusal.ts'],
  // 'Signup failed. Please try again.' is this title and the detail below it.
  ['Signup failed', 'web/src/features/identity/signup-form.tsx'],
  ['Please try again.', 'web/src/features/identity/signup-refusal.ts'],
  ['Form validation failed', 'web/src/features/identity/signup-form.tsx'],
  [
    'Please check the highlighted fields and try again.',
    'web/src/features/identity/signup-form.tsx',
  ],
  ['Signup completed but user session is invalid', 'web/src/features/identity/signup-refusal.ts'],
  ['No authenticated user found', 'services/identity/sessions/routes.ts', 'logged'],
  ['Database insert timeout', 'services/platform/http/log-words.ts', 'logged'],
  ['Auth user fetch timeout', 'services/platform/http/log-words.ts', 'logged'],
  ['Database query timeout', 'services/platform/http/log-words.ts', 'logged'],
  ['Token refresh failed: ', 'web/src/features/identity/sessions/session.ts', 'logged'],
  // Of the browser: its console.
  ['Magic link auth failed: ', 'web/src/features/identity/links/magic-arrival.tsx', 'logged'],
  ['Refresh failed: ', 'web/src/features/identity/links/magic-arrival.tsx', 'logged'],
  ['Invalid tokens: ', 'web/src/features/identity/sessions/token-checks.ts'],
  [
    'Your email has been confirmed successfully! You are now logged in.',
    'web/src/features/identity/links/confirmation.ts',
  ],
  [
    'Invalid confirmation link. Please try signing up again.',
    'web/src/features/identity/links/confirmation.ts',
  ],
  [
    'Failed to confirm your email. Please try again or contact support.',
    'web/src/features/identity/links/confirmation.ts',
  ],
  ['An authentication error occurred', 'web/src/features/identity/error-sentence.ts'],
  ['Login failed', 'web/src/features/identity/sessions/login-form.tsx'],
  ['Login failed. Please check your credentials.', 'services/identity/refusals.ts'],
  ['Login failed. Please try again.', 'web/src/features/identity/sessions/login-form.tsx'],
  ['Failed to load credits', 'web/src/features/credits/badge.tsx'],
  ['Credits: --', 'web/src/features/credits/badge.tsx'],
  ['Authentication required', 'services/platform/http/auth.ts'],
  ['Connection timeout', 'web/src/live/connection.ts'],
  ['Failed to create optimization', 'web/src/features/optimize/start.ts', 'logged'],
  ['Failed to get optimization status', 'web/src/live/live.ts', 'logged'],
  ['Optimization timeout', 'services/optimizations/reading/describe.ts'],
  ['Failed to get optimization', 'services/optimizations/routes.ts'],
  ['Failed to list optimizations', 'web/src/routes/_signed-in/dashboard_.optimizations.tsx'],
  ['Failed to estimate cost', 'web/src/features/optimize/queries.ts', 'logged'],
  ['Failed to get strategies', 'web/src/features/optimize/form.tsx'],
  ['Failed to load optimization data', 'web/src/features/chamber/chamber.tsx'],
  ['Failed to cancel optimization', 'web/src/features/chamber/cancel.tsx'],
  ['Connection failed', 'web/src/live/connection.ts'],
  ['Failed to load credit information', 'web/src/routes/_signed-in/credits.tsx'],
  ['No transactions yet', 'web/src/features/credits/history/history.tsx'],
  ['Purchase Your First Credits', 'web/src/features/credits/history/history.tsx'],
  ['Failed to load dashboard data. Please try again.', 'web/src/routes/_signed-in/dashboard.tsx'],
  ['Failed to start optimization. Please try again.', 'web/src/features/optimize/outcome.tsx'],
  [
    'Insufficient credits to start optimization. Please purchase more credits.',
    'web/src/features/optimize/insufficient.tsx',
  ],
  ['You need ${of.required} credits to run this optimization, ', 'services/credits/contract.ts'],
  ['Failed to load credit packages', 'web/src/routes/_signed-in/credits_/purchase.tsx'],
  ['Purchase failed', 'web/src/features/purchase/package-card.tsx'],
  ['No checkout URL received from server', 'web/src/features/purchase/queries.ts'],
  ['No session ID provided', 'web/src/features/purchase/verification.ts'],
  ['Failed to verify purchase completion', 'web/src/features/purchase/success.tsx'],
  ['Purchase Verification Failed', 'web/src/features/purchase/success.tsx'],
  [
    'Successfully purchased ${credits(bought)} credits! Your balance has been updated.',
    'web/src/features/purchase/verification.ts',
  ],
  ['Buy More Credits', 'web/src/features/optimize/insufficient.tsx'],
  ['View Credit Balance', 'web/src/features/optimize/insufficient.tsx'],
  // The low-credits prompt below 20 credits.
  ['Buy More Credits', 'web/src/features/credits/badge.tsx'],
  ['Approaching Usage Limit', 'web/src/features/dashboard/usage-card.tsx'],
  [
    'of your monthly optimization limit. Consider upgrading to continue optimizing.',
    'web/src/features/dashboard/usage-card.tsx',
  ],
];

const places: Place[] = catalogue.map(([words, place, logged]) => ({
  words,
  place,
  isLogged: logged === 'logged',
}));

const sourceOf = (place: string): string =>
  readFileSync(place, 'utf8')
    .replace(/&apos;/g, "'")
    .replace(/\s+/g, ' ');

test.each(places)('the sentence "$words" is in $place', ({ words, place }) => {
  expect(sourceOf(place)).toContain(words);
});

/** A log's words are written by a call; those of `log-words.ts` by the one handler of failures. */
function written(words: string, place: string): [source: string, call: RegExp] {
  if (place === 'services/platform/http/log-words.ts')
    return ['services/platform/http/http.ts', /get\('log'\)\.error\([^;]*logWords\(error/];
  const sentence = RegExp.escape(words);
  return [place, new RegExp(`(?:console|get\\('log'\\))\\.\\w+\\([^;]*${sentence}`)];
}

test.each(places.filter(({ isLogged }) => isLogged))(
  'the sentence "$words" of $place is written to a log',
  ({ words, place }) => {
    const [source, call] = written(words, place);
    expect(sourceOf(source)).toMatch(call);
  },
);
