import * as v from 'valibot';
import { optimizationLimits } from '#services/optimizations/contract/requests.ts';
import { RunId, RunStatus } from '#services/optimizations/contract/summary.ts';
import { IdText, Time } from '#services/platform/contract.ts';
import type { EndpointList } from '#services/platform/contract.ts';
import {
  aiSubscriptions,
  auditLimits,
  businessTypeIds,
  competitivePressureIds,
  competitiveRisks,
  hoursPerLostDeal,
  revenueLevelIds,
} from './audit.ts';
import { challengeIds } from './challenge-list.ts';

/** The onboarding at `/onboarding/singularity`: what a person answered and how far they are. */

export const stageCount = 4;

const wholeNumber = (what: string, most: number, words: string) => {
  const sentence = `Enter ${what} as a whole number from 0 to ${most.toLocaleString('en-US')}`;
  return v.pipe(
    v.number(sentence),
    v.integer(sentence),
    v.minValue(0, sentence),
    v.maxValue(most, sentence),
    v.description(words),
  );
};

const Stage = v.picklist([1, 2, 3, 4], 'The stage is a number from 1 to 4');

/** The answers of stage 1. */
export const AuditData = v.strictObject({
  aiSubscriptions: v.pipe(
    v.array(v.picklist(aiSubscriptions, 'Choose from the listed subscriptions')),
    v.maxLength(aiSubscriptions.length, 'Name each subscription once'),
    v.transform((all) => [...new Set(all)]),
  ),
  monthlySpend: wholeNumber('the monthly spend', auditLimits.spend, 'US dollars a month'),
  orchestrationHours: wholeNumber(
    'the hours',
    auditLimits.hours,
    'Hours a week spent carrying work between AI tools; 0 while unanswered',
  ),
  revenueLevel: v.nullable(v.picklist(revenueLevelIds, 'Choose one of the listed revenue levels')),
  businessType: v.nullable(v.picklist(businessTypeIds, 'Choose one of the listed business types')),
  competitivePressure: v.nullable(
    v.picklist(competitivePressureIds, 'Choose one of the listed answers'),
  ),
  lostDeals: v.nullable(
    wholeNumber(
      'the lost deals',
      auditLimits.deals,
      `Deals lost a year; null lets the analysis assume one for every ${hoursPerLostDeal} hours`,
    ),
  ),
});
export type AuditData = v.InferOutput<typeof AuditData>;

export const emptyAudit: AuditData = {
  aiSubscriptions: [],
  monthlySpend: 0,
  orchestrationHours: 0,
  revenueLevel: null,
  businessType: null,
  competitivePressure: null,
  lostDeals: null,
};

const ChallengeId = v.picklist(challengeIds, 'Choose one of the listed challenges');

const Demonstration = v.variant('kind', [
  v.strictObject({
    kind: v.literal('sample'),
    finished: v.pipe(v.boolean(), v.description('The sample was played to its end')),
  }),
  v.strictObject({
    kind: v.literal('run'),
    run_id: v.pipe(IdText('opt'), v.description("One of the user's own runs")),
  }),
]);

/** The question of a real run, while it is written. */
const Question = v.strictObject({
  challenge: v.pipe(
    v.string(),
    v.maxLength(
      optimizationLimits.challenge,
      `The challenge can have up to ${optimizationLimits.challenge} characters`,
    ),
  ),
  context: v.pipe(
    v.string(),
    v.maxLength(
      optimizationLimits.context,
      `The context can have up to ${optimizationLimits.context} characters`,
    ),
  ),
});

/** What the person writes and chooses; `PUT` replaces it whole. */
export const OnboardingAnswers = v.strictObject({
  currentStage: v.pipe(Stage, v.description('1 to 4')),
  auditData: AuditData,
  selectedChallenge: v.nullable(ChallengeId),
  demonstration: v.nullable(Demonstration),
  question: v.nullable(Question),
});
export type OnboardingAnswers = v.InferOutput<typeof OnboardingAnswers>;

export const emptyAnswers: OnboardingAnswers = {
  currentStage: 1,
  auditData: emptyAudit,
  selectedChallenge: null,
  demonstration: null,
  question: null,
};

/** `PUT /onboarding`. */
export const OnboardingRequest = v.strictObject({
  version: v.pipe(
    v.number('Send the version that was read'),
    v.integer('Send the version that was read'),
    v.minValue(0, 'Send the version that was read'),
    v.description('The version that was read; 0 while nothing is stored'),
  ),
  ...OnboardingAnswers.entries,
});
export type OnboardingRequest = v.InferOutput<typeof OnboardingRequest>;

const WasteAnalysis = v.object({
  weeklyOrchestrationHours: v.pipe(v.number(), v.description('Hours a week, as answered')),
  annualWaste: v.pipe(v.number(), v.description('Hours a year: weekly hours × 52')),
  dollarValueWaste: v.pipe(v.number(), v.description('US dollars a year: annual hours × rate')),
  opportunityCost: v.pipe(v.number(), v.description('US dollars a year: lost deals × rate × 10')),
  competitiveRisk: v.pipe(
    v.picklist(competitiveRisks),
    v.description('By `dollarValueWaste`: above 250,000, above 100,000, or less'),
  ),
  dollars_per_hour: v.pipe(v.number(), v.description('US dollars, by revenue level')),
  lost_deals: v.pipe(v.number(), v.description('Deals a year')),
  lost_deals_assumed: v.pipe(
    v.boolean(),
    v.description(`Without an answer: one for every ${hoursPerLostDeal} hours a year`),
  ),
});

const StageReply = v.object({
  id: v.pipe(
    v.picklist(['audit', 'challenge', 'demonstration', 'activation']),
    v.description('Of the stage'),
  ),
  title: v.string(),
  completed: v.boolean(),
  data: v.pipe(
    v.nullable(v.looseObject({})),
    v.description('What was answered there; null for nothing'),
  ),
});

const bonusStates = [
  'off',
  'available',
  'needs-confirmed-email',
  'already-given',
  'granted',
] as const;

const Bonus = v.object({
  credits: v.pipe(v.number(), v.description('Credits that were or would be granted; 0 when off')),
  worth_usd: v.pipe(
    v.nullable(v.number()),
    v.description('USD of the package with as many credits; null when there is none'),
  ),
  state: v.pipe(
    v.picklist(bonusStates),
    v.description('`already-given`: to another account with this email address'),
  ),
});
export type Bonus = v.InferOutput<typeof Bonus>;

export const Onboarding = v.object({
  userId: v.string(),
  version: v.pipe(v.number(), v.description('To be sent with the next change; 0 before the first')),
  ...OnboardingAnswers.entries,
  stages: v.array(StageReply),
  wasteAnalysis: v.pipe(
    v.nullable(WasteAnalysis),
    v.description('Estimates; null until hours and revenue level are answered'),
  ),
  demonstration: v.nullable(
    v.union([
      v.object({ kind: v.literal('sample'), finished: v.boolean() }),
      v.object({
        kind: v.literal('run'),
        run_id: RunId,
        status: v.pipe(
          v.nullable(RunStatus),
          v.description('Of the run; null once it was deleted'),
        ),
        finished: v.boolean(),
      }),
    ]),
  ),
  creditsActivated: v.boolean(),
  bonus: Bonus,
  completedAt: v.nullable(Time),
});
export type Onboarding = v.InferOutput<typeof Onboarding>;

/** The four-stage onboarding. */
export const onboardingEndpoints = {
  'GET /onboarding': {
    summary: 'How far the onboarding is',
    description:
      'Answers, stages and estimates. Before the first change everything is empty and `version` is 0.',
    access: 'person',
    status: 200,
    reply: Onboarding,
  },
  'PUT /onboarding': {
    summary: 'Save the answers',
    description:
      'Replaces all of them. 409 `onboarding-changed` when another tab or device saved since `version` was read.',
    access: 'person',
    body: OnboardingRequest,
    status: 200,
    reply: Onboarding,
    refuses: [404, 409],
  },
  'POST /onboarding/activate': {
    summary: 'Grant the onboarding bonus',
    description:
      'Once per person, with a confirmed email address, where the operator has set a bonus. `bonus.state` says what came of it; a repeat changes nothing.',
    access: 'person',
    status: 200,
    reply: Onboarding,
  },
  'POST /onboarding/complete': {
    summary: 'Complete the onboarding',
    description: 'Grants the bonus as `activate` does, too. A repeat keeps the first time.',
    access: 'person',
    status: 200,
    reply: Onboarding,
  },
} as const satisfies EndpointList;
