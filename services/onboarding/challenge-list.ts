import type { BusinessType } from './audit.ts';
import type { ChallengeType } from '#services/optimizations/contract/summary.ts';

/** The six challenges of the onboarding. Ids are stored and stand in addresses, so they never change. */
export type Challenge = {
  id: ChallengeId;
  title: string;
  description: string;
  complexity: 'High' | 'Very high';
  /** Our estimate of the work by hand, in hours. */
  normalTime: number;
  /** The same with a run: preparing the facts, the run, checking what it says. */
  eliteTime: number;
  /** Dollars a year. */
  revenueMin: number;
  revenueMax: number;
  businessType: readonly BusinessType[];
  template: ChallengeTemplate;
};

/** What the question form is filled with. */
export type ChallengeTemplate = {
  challenge: string;
  /** A line for each fact that the models need; the person writes behind it. */
  facts: readonly string[];
  objectives: readonly string[];
  constraints: readonly string[];
  challengeType: ChallengeType;
};

export const challengeIds = [
  'competitive-intelligence',
  'market-expansion',
  'product-architecture',
  'premium-positioning',
  'acquisition-targets',
  'content-monetization',
] as const;
export type ChallengeId = (typeof challengeIds)[number];

export const challenges: readonly Challenge[] = [
  {
    id: 'competitive-intelligence',
    title: 'Competitive intelligence deep dive',
    description:
      'Name the competitors who could take your customers in the next 12 months, how they would do it, and what to change first.',
    complexity: 'High',
    normalTime: 30,
    eliteTime: 2,
    revenueMin: 500_000,
    revenueMax: 10_000_000,
    businessType: ['saas', 'ecommerce', 'agency', 'other'],
    template: {
      challenge:
        'Which competitors are most likely to take our customers in the next 12 months, how would they do it, and what should we change first?',
      facts: [
        'What we sell, to whom, at what price:',
        'Competitors we lost to in the last 6 months, and why buyers said they left:',
        'Where we win, with one example:',
        'What a competitor changed recently (price, product, people):',
      ],
      objectives: [
        'Rank at most three competitors by the revenue they put at risk',
        'For each, name the one move that would hurt us and its first visible sign',
        'Choose one change we can make within 30 days',
      ],
      constraints: [
        'Use only the facts given; mark anything else as an assumption to check',
        'No response that starts a price war',
      ],
      challengeType: 'business_strategy',
    },
  },
  {
    id: 'market-expansion',
    title: 'Market expansion strategy',
    description:
      'Choose one new segment, region or channel, or none, and set the result that would make you stop.',
    complexity: 'Very high',
    normalTime: 60,
    eliteTime: 4,
    revenueMin: 1_000_000,
    revenueMax: 10_000_000,
    businessType: ['saas', 'ecommerce', 'consulting'],
    template: {
      challenge:
        'Which one new market should we enter in the next two quarters, if any, and what is the cheapest test that would show it works?',
      facts: [
        'What we sell today, and to whom:',
        'Markets we are considering (segment, region or channel):',
        'Signs of demand in each, such as inbound requests or pilot sales:',
        'What we can spend, and how many hours a week:',
      ],
      objectives: [
        'Compare the candidates with staying where we are',
        'Design a test of at most 6 weeks for the best one',
        'Set the figure that means stop',
      ],
      constraints: [
        'Serving current customers must not get worse',
        'No hire before the test has passed',
      ],
      challengeType: 'business_strategy',
    },
  },
  {
    id: 'product-architecture',
    title: 'Product architecture optimization',
    description:
      'Decide which products, plans or services to keep, merge or retire, and what happens to the customers on them.',
    complexity: 'High',
    normalTime: 40,
    eliteTime: 3,
    revenueMin: 500_000,
    revenueMax: 7_000_000,
    businessType: ['saas', 'ecommerce', 'content'],
    template: {
      challenge:
        'Which of our products, plans or services should we keep, merge or retire, and in which order?',
      facts: [
        'Each product or plan with its price, yearly revenue and number of customers:',
        'Hours of support and upkeep each one takes:',
        'Which ones bring new customers in, and which ones keep them:',
        'Contracts or promises that limit what we can change:',
      ],
      objectives: [
        'A line-up that a new customer understands in a minute',
        'An order of changes with the revenue each one puts at risk',
        'A path for every customer of a retired product',
      ],
      constraints: ['No rebuild from scratch', 'Running contracts are kept to their end'],
      challengeType: 'product',
    },
  },
  {
    id: 'premium-positioning',
    title: 'Premium positioning strategy',
    description:
      'Find out whether you can charge more, for which customers first, and what they need to see before they pay it.',
    complexity: 'High',
    normalTime: 25,
    eliteTime: 2,
    revenueMin: 500_000,
    revenueMax: 5_000_000,
    businessType: ['consulting', 'agency', 'content', 'other'],
    template: {
      challenge:
        'Can we move our offer to a higher price, for which customers first, and what has to change before we ask for it?',
      facts: [
        'The offer, its price, and how many we sell a month:',
        'Our best customers, and the result they paid for:',
        'What buyers compare us with, and at what price:',
        'Results we can prove, with figures:',
      ],
      objectives: [
        'One offer with a price, and who it is for',
        'The proof a buyer needs to see, and what of it is missing',
        'A test with the next ten buyers, with the figure that means go back',
      ],
      constraints: [
        'No claim that we cannot prove',
        'Existing customers keep their price until their contract ends',
      ],
      challengeType: 'marketing',
    },
  },
  {
    id: 'acquisition-targets',
    title: 'Acquisition target analysis',
    description:
      'Decide whether to buy a business at all, which kind would fit, and what would have to be true of a target.',
    complexity: 'Very high',
    normalTime: 80,
    eliteTime: 6,
    revenueMin: 3_000_000,
    revenueMax: 10_000_000,
    businessType: ['saas', 'agency', 'ecommerce', 'other'],
    template: {
      challenge:
        'Should we buy another business in the next 12 months rather than build or partner, and what must be true of a target?',
      facts: [
        'What we lack today (customers, people, product, licenses):',
        'Targets we know of, with revenue, price asked and why they sell:',
        'Cash we could use, and the debt we would accept:',
        'Who would run the acquired business, and with how much time:',
      ],
      objectives: [
        'Compare buying with building and partnering',
        'At most five criteria that a target must meet, each one checkable',
        'The three questions to ask before an offer, and the answers that end it',
      ],
      constraints: ['No personal guarantee', 'The business must survive if the purchase fails'],
      challengeType: 'finance',
    },
  },
  {
    id: 'content-monetization',
    title: 'Content monetization optimization',
    description:
      'Choose what your audience should pay for next, and stop the formats that cost more than they bring.',
    complexity: 'High',
    normalTime: 20,
    eliteTime: 2,
    revenueMin: 500_000,
    revenueMax: 3_000_000,
    businessType: ['content', 'consulting'],
    template: {
      challenge:
        'What should our audience pay for next, and which formats or products should we stop?',
      facts: [
        'Channels with audience size and how often we publish:',
        'What earns money today, with yearly revenue of each:',
        'What people ask for or reply to most:',
        'Hours a week that each format takes:',
      ],
      objectives: [
        'One paid offer to test, with a price and a first page of text',
        'What to stop, and the hours that frees',
        'The number of buyers in 30 days that means continue',
      ],
      constraints: [
        'No advertising that we would not buy from ourselves',
        'Free readers keep what they were promised',
      ],
      challengeType: 'product',
    },
  },
];

/** The facts as lines to write behind, for the context of the question. */
export function factLines({ facts }: ChallengeTemplate): string {
  return facts.join('\n');
}
