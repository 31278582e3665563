import type { ChallengeType } from '#services/optimizations/contract/summary.ts';

/**
 * Evidence for each type: beginnings of words, or whole words where a space ends them. Strategy is
 * missing because it is the default.
 */
const signs: readonly (readonly [ChallengeType, readonly string[]])[] = [
  [
    'marketing',
    [
      'marketing',
      'advert',
      'ads ',
      'audience',
      'awareness',
      'brand',
      'campaign',
      'channel',
      'content',
      'newsletter',
      'organic',
      'seo',
      'social media',
      'traffic',
    ],
  ],
  [
    'operations',
    [
      'operation',
      'automat',
      'bottleneck',
      'capacity',
      'deliver',
      'fulfil',
      'inventory',
      'logistic',
      'process',
      'supplier',
      'supply',
      'turnaround',
      'warehouse',
      'workflow',
    ],
  ],
  [
    'finance',
    [
      'financ',
      'budget',
      'cash',
      'cost',
      'debt',
      'fundrais',
      'funding',
      'invest',
      'loan',
      'margin',
      'profitab',
      'runway',
      'tax',
      'valuation',
    ],
  ],
  [
    'product',
    [
      'product ',
      'products ',
      'app ',
      'apps ',
      'beta ',
      'feature',
      'mvp',
      'onboarding',
      'prototype',
      'release',
      'roadmap',
      'saas',
      'software',
      'usability',
    ],
  ],
  [
    'sales',
    [
      'sales ',
      'sell',
      'close rate',
      'closing',
      'cold call',
      'crm',
      'deal',
      'discount',
      'lead ',
      'leads ',
      'outbound',
      'pipeline',
      'prospect',
      'quota',
    ],
  ],
  [
    'hiring',
    [
      'hire',
      'hiring',
      'candidate',
      'contractor',
      'employ',
      'freelancer',
      'headcount',
      'interview',
      'onboard new',
      'recruit',
      'salary',
      'salesperson',
      'salaries',
      'talent',
    ],
  ],
];

/**
 * The type that most words of a text indicate, or null when none or two do equally. A repeated word
 * counts once.
 */
export function suggestChallengeType(text: string): ChallengeType | null {
  const words = ` ${text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, ' ')} `;
  const scores = signs
    .map(([type, beginnings]) => ({
      type,
      score: beginnings.filter((beginning) => words.includes(` ${beginning}`)).length,
    }))
    .toSorted((one, other) => other.score - one.score);
  const [first, second] = scores;
  if (!first || first.score === 0 || first.score === second?.score) return null;
  return first.type;
}
