import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

/**
 * The sentences of the specification's error catalogue that concern the pages of this version, and
 * where a person reads each. `log only`: an internal cause, for which a person reads the sentence of
 * the page instead.
 */
const places: readonly (readonly [string, string])[] = [
  ['Request failed', 'web/src/problem-words.ts'],
  ['Network error occurred', 'web/src/problem-words.ts'],
  ['Email already in use', 'services/identity/contract.ts'],
  [
    'An account with this email already exists. Try signing in instead.',
    'services/identity/contract.ts',
  ],
  ['Invalid email address', 'services/identity/contract.ts'],
  ['Please enter a valid email address.', 'services/identity/contract.ts'],
  ['Password too short', 'services/identity/contract.ts'],
  ['Password must be at least 8 characters long.', 'services/identity/contract.ts'],
  ['Password too weak', 'services/identity/contract.ts'],
  [
    'Please choose a stronger password with uppercase, lowercase, and numbers.',
    'services/identity/contract.ts',
  ],
  ['Too many attempts', 'web/src/features/identity/form-failure.tsx'],
  ['Please wait a moment before trying again.', 'web/src/problem-words.ts'],
  ['Connection error', 'web/src/features/identity/form-failure.tsx'],
  [
    'Please check your internet connection and try again.',
    'web/src/features/identity/form-failure.tsx',
  ],
  ['Signup failed', 'web/src/features/identity/signup-form.tsx'],
  ['Signup failed. Please try again.', 'web/src/features/identity/signup-form.tsx'],
  ['Login failed', 'web/src/features/identity/login-form.tsx'],
  ['Login failed. Please check your credentials.', 'services/identity/contract.ts'],
  ['Login failed. Please try again.', 'web/src/features/identity/login-form.tsx'],
  ['Failed to load credits', 'web/src/features/credits/badge.tsx'],
  ['Credits: --', 'web/src/features/credits/badge.tsx'],
  ['Authentication required', 'services/platform/auth.ts'],
  ['Connection timeout', 'log only'],
  ['Failed to create optimization', 'log only'],
  ['Failed to get optimization status', 'log only'],
  ['Optimization timeout', 'services/optimizations/describe.ts'],
  ['Failed to get optimization', 'services/optimizations/routes.ts'],
  ['Failed to list optimizations', 'web/src/routes/_signed-in/dashboard_.optimizations.tsx'],
  ['Failed to estimate cost', 'log only'],
  ['Failed to get strategies', 'web/src/features/optimize/form.tsx'],
  ['Failed to load optimization data', 'web/src/features/chamber/chamber.tsx'],
  ['Failed to cancel optimization', 'web/src/features/chamber/cancel.tsx'],
  ['Connection failed', 'web/src/live/connection.ts'],
  ['Failed to load credit information', 'web/src/routes/_signed-in/credits.tsx'],
  ['Failed to load dashboard data. Please try again.', 'web/src/routes/_signed-in/dashboard.tsx'],
  ['Failed to start optimization. Please try again.', 'web/src/features/optimize/form.tsx'],
  [
    'Insufficient credits to start optimization. Please purchase more credits.',
    'web/src/features/optimize/form.tsx',
  ],
  ['You need ${of.required} credits to run this optimization, ', 'services/credits/contract.ts'],
  ['Approaching Usage Limit', 'web/src/features/dashboard/usage-card.tsx'],
  [
    'of your monthly optimization limit. Consider upgrading to continue optimizing.',
    'web/src/features/dashboard/usage-card.tsx',
  ],
];

test.each(places.filter(([, place]) => place !== 'log only'))(
  '"%s" stands in %s',
  (words, place) => {
    const source = readFileSync(place, 'utf8')
      .replace(/&apos;/g, "'")
      .replace(/\s+/g, ' ');
    expect(source).toContain(words);
  },
);
