import { serve } from '#services/platform/http/serve.ts';
import type { ServeDependencies } from '#services/platform/http/serve.ts';
import type { RateLimits } from '#services/platform/http/rate-limits.ts';
import { onboardingEndpoints } from './contract.ts';
import { activate, complete, readOnboarding, saveOnboarding } from './onboarding.ts';
import type { OnboardingDependencies } from './onboarding.ts';

export function onboardingRoutes(
  dependencies: OnboardingDependencies & ServeDependencies & { rateLimits: RateLimits },
) {
  const takeTurn = async (userId: string) =>
    dependencies.rateLimits.take('onboarding', userId, { userId });
  return serve(
    onboardingEndpoints,
    {
      'GET /onboarding': async ({ userId }) => readOnboarding(dependencies, userId),
      'PUT /onboarding': async ({ userId, body }) => {
        await takeTurn(userId);
        return saveOnboarding(dependencies, userId, body);
      },
      'POST /onboarding/activate': async ({ userId }) => {
        await takeTurn(userId);
        return activate(dependencies, userId);
      },
      'POST /onboarding/complete': async ({ userId }) => {
        await takeTurn(userId);
        return complete(dependencies, userId);
      },
    },
    dependencies,
  );
}
