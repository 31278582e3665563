import type { Effort } from './model.ts';
import type { ModelUse, Seat, SeatRole, StrategyDefinition } from './strategies.ts';

/**
 * The strategies as data; `strategies.ts` checks them. A change of a panel, a price or a
 * limit raises the row's version, because runs name the version that they were made with.
 */

/** `gpt-6-luna` or `gpt-6-luna:high`. */
type Asked = string;

const standardDeadlines: StrategyDefinition['deadlines'] = {
  opinions: { softMs: 60_000, hardMs: 180_000 },
  claimsMs: 60_000,
  reviews: { softMs: 60_000, hardMs: 180_000 },
  synthesisMs: 120_000,
  runMs: 720_000,
};

/** High effort thinks for minutes. */
const patientDeadlines: StrategyDefinition['deadlines'] = {
  opinions: { softMs: 150_000, hardMs: 290_000 },
  claimsMs: 90_000,
  reviews: { softMs: 120_000, hardMs: 290_000 },
  synthesisMs: 240_000,
  runMs: 1_200_000,
};

const duels = 'Duels of the two best answers';

export const seatRoles = ['strategic', 'risk', 'implementation'] as const;

export const strategyList = listed([
  {
    id: 'ultra-economy',
    version: 1,
    name: 'Ultra Economy',
    description: 'Seven of the least expensive models, for quick checks of small ideas.',
    recommended: false,
    costTier: 1,
    credits: 2,
    panel: panel({
      strategic: ['gpt-6-luna', 'gemini-3.5-flash-lite'],
      risk: ['claude-haiku-5-5', 'mistral-small-2603'],
      implementation: ['gpt-5.6-luna', 'gemini-3.1-flash-lite', 'ministral-8b-2512'],
    }),
    reviewsPerSeat: 3,
    extractors: [use('gemini-3.8-flash'), use('mistral-large-2512')],
    ...synthesis('claude-haiku-5-5', 'gpt-6-luna', 'mistral-small-2603'),
    biasDetection: true,
    biasLabel: 'Indicators only',
    parallelExecution: true,
    typicalSeconds: 28,
    minFamilies: 3,
    maxOutputTokens: 16_000,
    deadlines: standardDeadlines,
    notInThisVersion: [],
  },
  {
    id: 'economy',
    version: 1,
    name: 'Economy',
    description:
      'Mostly small models with two mid-sized strategists, at about a third of the price.',
    recommended: false,
    costTier: 2,
    credits: 5,
    panel: panel({
      strategic: ['gpt-6.1-terra', 'gemini-3.8-flash'],
      risk: ['claude-haiku-5-5', 'mistral-large-2512'],
      implementation: ['gpt-6-luna', 'gemini-3.5-flash-lite', 'mistral-small-2603'],
    }),
    reviewsPerSeat: 4,
    extractors: [use('gpt-5.6-luna'), use('gemini-3.1-flash-lite')],
    ...synthesis('gpt-6.1-terra', 'claude-haiku-5-5', 'gemini-3.8-flash'),
    biasDetection: true,
    biasLabel: 'Indicators only',
    parallelExecution: true,
    typicalSeconds: 30,
    minFamilies: 3,
    maxOutputTokens: 16_000,
    deadlines: standardDeadlines,
    notInThisVersion: [],
  },
  {
    id: 'balanced',
    version: 1,
    name: 'Balanced',
    description: 'Seven models of four providers, each reviewed by all six others.',
    recommended: true,
    costTier: 3,
    credits: 14,
    panel: panel({
      strategic: ['gpt-6.1-terra', 'claude-sonnet-5-5', 'gemini-4-hydrogen'],
      risk: ['mistral-medium-2604', 'claude-haiku-5-5'],
      implementation: ['gemini-3.8-flash', 'gpt-6-luna'],
    }),
    reviewsPerSeat: 6,
    extractors: [use('gpt-5.6-luna'), use('gemini-3.1-flash-lite')],
    ...synthesis('claude-sonnet-5-5', 'gpt-6.1-terra', 'gemini-3.8-flash'),
    biasDetection: true,
    biasLabel: 'Full',
    parallelExecution: true,
    typicalSeconds: 30,
    minFamilies: 3,
    maxOutputTokens: 16_000,
    deadlines: standardDeadlines,
    notInThisVersion: [],
  },
  {
    id: 'reasoning-focused',
    version: 1,
    name: 'Reasoning Focused',
    description: 'Strong models that think at high effort, for decisions with many moving parts.',
    recommended: false,
    costTier: 4,
    credits: 50,
    panel: panel({
      strategic: ['gpt-6.1-sol:high', 'gemini-4-carbon:high'],
      risk: ['claude-opus-5-5:high', 'mistral-large-4'],
      implementation: ['claude-sonnet-5-5:high', 'gpt-6.1-terra:xhigh', 'gemini-4-hydrogen:xhigh'],
    }),
    reviewsPerSeat: 6,
    extractors: [use('gpt-5.6-luna'), use('gemini-3.1-flash-lite')],
    ...synthesis('gpt-6.1-sol', 'claude-opus-5-5', 'gemini-4-carbon'),
    biasDetection: true,
    biasLabel: 'Full',
    parallelExecution: true,
    typicalSeconds: 150,
    minFamilies: 3,
    maxOutputTokens: 48_000,
    deadlines: patientDeadlines,
    notInThisVersion: [duels],
  },
  {
    id: 'premium',
    version: 1,
    name: 'Premium',
    description: 'The flagship models of four providers, each reviewed by all six others.',
    recommended: false,
    costTier: 4,
    credits: 33,
    panel: panel({
      strategic: ['gpt-6.1-sol', 'claude-opus-5-5'],
      risk: ['gemini-4-argon', 'mistral-large-4'],
      implementation: ['claude-sonnet-5-5', 'gpt-6.1-terra', 'gemini-4-hydrogen'],
    }),
    reviewsPerSeat: 6,
    extractors: [use('gpt-5.6-luna'), use('gemini-3.1-flash-lite')],
    ...synthesis('claude-opus-5-5', 'gpt-6.1-sol', 'gemini-4-argon'),
    biasDetection: true,
    biasLabel: 'Full',
    parallelExecution: true,
    typicalSeconds: 60,
    minFamilies: 3,
    maxOutputTokens: 32_000,
    deadlines: standardDeadlines,
    notInThisVersion: [duels],
  },
  {
    id: 'ultra',
    version: 1,
    name: 'Ultra',
    description:
      'Eight of the strongest models there are, with every answer reviewed by all others.',
    recommended: false,
    costTier: 5,
    credits: 104,
    panel: panel({
      strategic: ['gpt-6-astra', 'claude-fable-5-1'],
      risk: ['gemini-4-carbon', 'claude-opus-5-5', 'mistral-large-4'],
      implementation: ['gpt-6.1-sol', 'gemini-4-argon', 'mistral-medium-2604'],
    }),
    reviewsPerSeat: 7,
    extractors: [use('gpt-5.6-luna'), use('gemini-3.1-flash-lite')],
    ...synthesis('claude-fable-5-1', 'gpt-6-astra', 'gemini-4-carbon'),
    biasDetection: true,
    biasLabel: 'Full',
    parallelExecution: true,
    typicalSeconds: 90,
    minFamilies: 3,
    maxOutputTokens: 32_000,
    deadlines: patientDeadlines,
    notInThisVersion: [duels, 'Shadow self-reviews'],
  },
  {
    id: 'fast',
    version: 1,
    name: 'Fast',
    description: 'Seven models with little or no thinking time, for an answer while you wait.',
    recommended: false,
    costTier: 2,
    credits: 4,
    panel: panel({
      strategic: ['gpt-6.1-terra:none', 'mistral-medium-2604'],
      risk: ['claude-haiku-5-5:none', 'gemini-3.5-flash-lite:minimal'],
      implementation: ['gpt-6-luna:none', 'gemini-3.8-flash:low', 'mistral-small-2603'],
    }),
    reviewsPerSeat: 3,
    extractors: [use('gpt-5.6-luna'), use('gemini-3.1-flash-lite')],
    ...synthesis('gpt-6.1-terra:none', 'claude-haiku-5-5:none', 'mistral-small-2603'),
    biasDetection: true,
    biasLabel: 'Position and length',
    parallelExecution: true,
    typicalSeconds: 25,
    minFamilies: 3,
    maxOutputTokens: 8000,
    deadlines: standardDeadlines,
    notInThisVersion: [],
  },
  {
    id: 'comprehensive',
    version: 1,
    name: 'Comprehensive',
    description: 'Twelve models from small to flagship, for the widest range of views.',
    recommended: false,
    costTier: 4,
    credits: 49,
    panel: panel({
      strategic: ['gpt-6.1-sol', 'claude-opus-5-5', 'gemini-4-argon', 'gemini-4-hydrogen'],
      risk: ['claude-sonnet-5-5', 'mistral-large-4', 'claude-haiku-5-5', 'mistral-medium-2604'],
      implementation: ['gpt-6.1-terra', 'gpt-6-luna', 'gemini-3.8-flash', 'mistral-small-2603'],
    }),
    reviewsPerSeat: 6,
    extractors: [use('gpt-5.6-luna'), use('gemini-3.1-flash-lite')],
    ...synthesis('claude-opus-5-5', 'gpt-6.1-sol', 'gemini-4-argon'),
    biasDetection: true,
    biasLabel: 'Full',
    parallelExecution: true,
    typicalSeconds: 60,
    minFamilies: 3,
    maxOutputTokens: 32_000,
    deadlines: standardDeadlines,
    notInThisVersion: ['A refinement round that shows arguments only'],
  },
]);

/** The id of a strategy, which the list alone defines. */
export type StrategyId = (typeof strategyList)[number]['id'];
export const strategyIds: readonly StrategyId[] = strategyList.map(({ id }) => id);

/** Keeps the ids as types. */
function listed<const Id extends string>(
  list: readonly (StrategyDefinition & { id: Id })[],
): readonly (StrategyDefinition & { id: Id })[] {
  return list;
}

function panel(byRole: Readonly<Record<SeatRole, Asked[]>>): Seat[] {
  const seats = (role: SeatRole, letter: string): Seat[] =>
    byRole[role].map((asked, index) => ({ seat: `${letter}${index + 1}`, role, ...use(asked) }));
  return [...seats('strategic', 'S'), ...seats('risk', 'R'), ...seats('implementation', 'I')];
}

/**
 * When the other synthesiser takes over, it is the first verifier; the second verifier stays and the
 * first synthesiser takes the free place, so that no model verifies a draft of its own family.
 */
function synthesis(
  writer: Asked,
  verifier: Asked,
  otherVerifier: Asked,
): Pick<StrategyDefinition, 'synthesizers' | 'verifiers'> {
  return {
    synthesizers: [use(writer), use(verifier)],
    verifiers: [
      [use(verifier), use(otherVerifier)],
      [use(otherVerifier), use(writer)],
    ],
  };
}

function use(asked: Asked): ModelUse {
  const [model = '', effort] = asked.split(':');
  return { model, effort: effort === undefined ? null : (effort as Effort) };
}
