import { creditEndpoints } from '#services/credits/endpoints.ts';
import { identityEndpoints } from '#services/identity/endpoints.ts';
import { liveEndpoints } from '#services/live/endpoints.ts';
import { optimizationEndpoints } from '#services/optimizations/endpoints.ts';
import { paymentEndpoints } from '#services/payments/endpoints.ts';
import { platformEndpoints } from '#services/platform/contract.ts';
import { recipeEndpoints } from '#services/recipes/endpoints.ts';
import type { EndpointList } from '#services/platform/contract.ts';

/** Every call of the API; a route without an entry here fails its test. */
export const endpoints = {
  ...platformEndpoints,
  ...identityEndpoints,
  ...creditEndpoints,
  ...paymentEndpoints,
  ...optimizationEndpoints,
  ...recipeEndpoints,
  ...liveEndpoints,
} as const satisfies EndpointList;
