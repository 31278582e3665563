import type { OnboardingRequest } from '#services/onboarding/contract.ts';

/** Valid answers of the first two stages, before anything is stored. */
export const answers: OnboardingRequest = {
  version: 0,
  currentStage: 2,
  auditData: {
    aiSubscriptions: ['Claude Pro ($20/mo)'],
    monthlySpend: 120,
    orchestrationHours: 10,
    revenueLevel: '1m-3m',
    businessType: 'agency',
    competitivePressure: 'maybe',
    lostDeals: null,
  },
  selectedChallenge: 'premium-positioning',
  demonstration: { kind: 'sample', finished: true },
  question: { challenge: 'Can we charge more?', context: 'We build websites.' },
};
