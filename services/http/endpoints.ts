import { contactEndpoints } from '#services/contact/contract.ts';
import { creditEndpoints } from '#services/credits/contract.ts';
import { identityEndpoints } from '#services/identity/contract.ts';
import { liveEndpoints } from '#services/live/contract.ts';
import { onboardingEndpoints } from '#services/onboarding/contract.ts';
import { optimizationEndpoints } from '#services/optimizations/contract/endpoints.ts';
import { paymentEndpoints } from '#services/payments/contract.ts';
import { platformEndpoints } from '#services/platform/contract.ts';
import { recipeEndpoints } from '#services/recipes/contract.ts';
import type { EndpointList } from '#services/platform/contract.ts';

/** Every call of the API; a route without an entry here fails its test. */
export const endpoints = {
  ...platformEndpoints,
  ...identityEndpoints,
  ...creditEndpoints,
  ...paymentEndpoints,
  ...optimizationEndpoints,
  ...recipeEndpoints,
  ...contactEndpoints,
  ...onboardingEndpoints,
  ...liveEndpoints,
} as const satisfies EndpointList;
