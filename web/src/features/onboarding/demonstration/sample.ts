import type { ChallengeId } from '#services/onboarding/challenge-list.ts';

/** The demonstration with sample data. Nothing here was measured, and every place that shows it says so. */
export const sampleSteps = [
  { id: 'routing', title: 'Routing', detail: 'The question goes to 7 sample models.' },
  { id: 'coordinating', title: 'Coordinating', detail: 'Each sample model writes its own answer.' },
  {
    id: 'collaborating',
    title: 'Collaborating',
    detail: 'The models review each other blind.',
  },
  { id: 'synthesizing', title: 'Synthesizing', detail: 'One recommendation follows the vote.' },
  { id: 'completed', title: 'Completed', detail: 'The sample result is below.' },
] as const;

export const sampleStepMs = 1_000;
export const sampleConfidence = 94;
export const sampleMinutes = 5.2;

/** What the panel might say about an invented business. */
export const sampleResults: Readonly<
  Record<ChallengeId, { insights: readonly string[]; recommendations: readonly string[] }>
> = {
  'competitive-intelligence': {
    insights: [
      '2 of the 5 named competitors sell to other buyers, so their price cuts matter less than feared.',
      'Most lost deals name the same missing integration.',
    ],
    recommendations: [
      'Ask the last 6 lost buyers one question about the integration before building it.',
      'Watch one competitor, the one that hired 2 salespeople in your region.',
    ],
  },
  'market-expansion': {
    insights: [
      'A third of inbound requests come from a segment that the website never mentions.',
      'The new region needs a second language for support, which the plan leaves out.',
    ],
    recommendations: [
      'Test the segment with one page and 20 calls in 6 weeks.',
      'Stop if fewer than 4 of the 20 ask for a price.',
    ],
  },
  'product-architecture': {
    insights: [
      'The smallest plan takes 40% of support time and brings 9% of revenue.',
      'Nobody upgraded from the middle plan in the last half year.',
    ],
    recommendations: [
      'Merge the middle plan into the large one, at the old price for current customers.',
      'Close the smallest plan to new customers first, and delete nothing for 3 months.',
    ],
  },
  'premium-positioning': {
    insights: [
      'The best clients pay for a shorter time to launch, not for more design.',
      'There is no published case with figures, which a higher price would need.',
    ],
    recommendations: [
      'Offer the next 10 buyers a launch in 3 weeks at 1.4 times the price.',
      'Go back to the old price if fewer than 3 of the 10 accept.',
    ],
  },
  'acquisition-targets': {
    insights: [
      'The missing piece is 2 engineers, which a purchase would cost 6 times as much to get.',
      'The one known target sells because its largest customer leaves.',
    ],
    recommendations: [
      'Make an offer to 2 engineers before any offer for a business.',
      'Ask the target for revenue by customer. Walk away if one brings more than 30%.',
    ],
  },
  'content-monetization': {
    insights: [
      'The weekly audio takes 9 hours and brings the fewest subscribers.',
      'Readers write back most often about templates.',
    ],
    recommendations: [
      'Sell a set of templates for $49 to the most active tenth of the list first.',
      'Pause the audio for 8 weeks and count who asks for it.',
    ],
  },
};
