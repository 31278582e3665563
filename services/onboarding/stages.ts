import { isAudited } from './audit.ts';
import type { Onboarding, OnboardingAnswers } from './contract.ts';

/** The four stages, and which are complete. Pure: the server and the page use the same function. */
export function stagesOf(
  { auditData, selectedChallenge }: Pick<OnboardingAnswers, 'auditData' | 'selectedChallenge'>,
  demonstration: Onboarding['demonstration'],
  isCompleted: boolean,
): Onboarding['stages'] {
  return [
    { id: 'audit', title: 'Audit', completed: isAudited(auditData), data: auditData },
    {
      id: 'challenge',
      title: 'Challenge',
      completed: selectedChallenge !== null,
      data: selectedChallenge === null ? null : { selectedChallenge },
    },
    {
      id: 'demonstration',
      title: 'Demonstration',
      completed: demonstration?.finished === true,
      data: demonstration,
    },
    { id: 'activation', title: 'Activation', completed: isCompleted, data: null },
  ];
}
