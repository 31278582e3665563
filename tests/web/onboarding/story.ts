import { isCalculable, wasteOf } from '#services/onboarding/audit.ts';
import { emptyAnswers } from '#services/onboarding/contract.ts';
import type { Onboarding } from '#services/onboarding/contract.ts';
import { stagesOf } from '#services/onboarding/stages.ts';

/** The reply of the server for a person with these answers. */
export function onboardingOf(change: Partial<Onboarding> = {}): Onboarding {
  const { auditData, selectedChallenge } = { ...emptyAnswers, ...change };
  return {
    userId: `usr_${'0'.repeat(26)}`,
    version: 0,
    stages: stagesOf({ auditData, selectedChallenge }, change.demonstration ?? null, false),
    ...emptyAnswers,
    wasteAnalysis: isCalculable(auditData) ? wasteOf(auditData) : null,
    demonstration: null,
    creditsActivated: false,
    bonus: { credits: 50, worth_usd: 25, state: 'available' },
    completedAt: null,
    ...change,
  };
}

export const audited: Onboarding['auditData'] = {
  aiSubscriptions: ['Claude Pro ($20/mo)'],
  monthlySpend: 120,
  orchestrationHours: 12,
  revenueLevel: '1m-3m',
  businessType: 'agency',
  competitivePressure: 'probably',
  lostDeals: null,
};
