import { queryOptions } from '@tanstack/react-query';
import { Onboarding, type OnboardingRequest } from '#services/onboarding/contract.ts';
import { read, write } from '#web/api/api.ts';

/** Always read again when a page opens: another device may have answered since. */
export const onboardingQuery = queryOptions({
  queryKey: ['onboarding'],
  queryFn: ({ signal }) => read('/onboarding', Onboarding, { signal }),
  staleTime: 0,
  refetchOnWindowFocus: false,
});

export function putOnboarding(request: OnboardingRequest): Promise<Onboarding> {
  // Answers also arrive when the page is closed right after them.
  return write('PUT', '/onboarding', request, Onboarding, { keepalive: true });
}

export function activateBonus(): Promise<Onboarding> {
  return write('POST', '/onboarding/activate', {}, Onboarding);
}

export function completeOnboarding(): Promise<Onboarding> {
  return write('POST', '/onboarding/complete', {}, Onboarding);
}
