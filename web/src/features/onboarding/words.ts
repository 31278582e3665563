import {
  businessTypes,
  competitivePressures,
  hoursPerDeal,
  hoursPerLostDeal,
  revenueLevels,
  riskThresholds,
  speedMultiple,
} from '#services/onboarding/audit.ts';
import type {
  BusinessType,
  CompetitiveRisk,
  RevenueLevel,
  WasteAnalysis,
} from '#services/onboarding/audit.ts';
import { factLines } from '#services/onboarding/challenge-list.ts';
import type { Challenge } from '#services/onboarding/challenge-list.ts';
import type { Business, Fit } from '#services/onboarding/challenges.ts';
import { revenueMidpoint } from '#services/onboarding/challenges.ts';
import type { AuditData, Bonus, OnboardingAnswers } from '#services/onboarding/contract.ts';
import type { Evolution } from '#services/optimizations/contract/run.ts';
import {
  counted,
  creditsInWords,
  figure,
  shownMinutes,
  workdayMinutes,
} from '#services/platform/numbers.ts';
import { listed } from '#services/models/seating/words.ts';
import { price } from '#web/ui/text/figures.ts';

/** The sentences of the onboarding that follow from answers. */

export const dollars = (amount: number): string => price(amount * 100);

export const pressureQuestion = 'Do competitors use AI better than you?';

/** What became of the answer about competitors. */
export function pressureWords(answer: AuditData['competitivePressure']): string {
  const given =
    answer === null ? '' : `“${pressureQuestion}” You answered “${competitivePressures[answer]}”. `;
  return `${given}The risk follows the value of the hours alone, not what you say about competitors.`;
}

/** What Calculate waits for. */
export function missingToCalculate({ orchestrationHours, revenueLevel }: AuditData): string[] {
  return [
    ...(orchestrationHours > 0 ? [] : ['hours a week']),
    ...(revenueLevel === null ? ['yearly revenue'] : []),
  ];
}

/** What 'Experience Superintelligence' waits for. */
export function missingToExperience({ revenueLevel, businessType }: AuditData): string[] {
  return [
    ...(revenueLevel === null ? ['yearly revenue'] : []),
    ...(businessType === null ? ['type of business'] : []),
  ];
}

/** @param to what waits for the answers: "calculate" */
export function missingSentence(to: string, missing: readonly string[]): string {
  return `To ${to}, add your ${missing.join(' and ')}.`;
}

/** Each result as the multiplication that it is. */
export function formulas(waste: WasteAnalysis): { result: string; formula: string }[] {
  const {
    weeklyOrchestrationHours: weekly,
    annualWaste: hours,
    dollarValueWaste: value,
    opportunityCost: lost,
    dollars_per_hour: rate,
    lost_deals: deals,
  } = waste;
  return [
    { result: 'Hours a year', formula: `${figure(weekly)} hours × 52 weeks = ${figure(hours)}` },
    {
      result: 'Value of these hours',
      formula: `${figure(hours)} hours × ${dollars(rate)} = ${dollars(value)}`,
    },
    {
      result: 'Opportunity cost',
      formula: `${counted(deals, 'lost deal')} × ${dollars(rate)} × ${hoursPerDeal} = ${dollars(lost)}`,
    },
  ];
}

export function assumptions(waste: WasteAnalysis, level: RevenueLevel): string[] {
  return [
    `An hour of your time is worth ${dollars(waste.dollars_per_hour)}, our assumption for ${revenueLevels[level].label} of revenue.`,
    waste.lost_deals_assumed
      ? `You left the lost deals empty, so we assume 1 for every ${hoursPerLostDeal} hours, rounded down: ${figure(waste.lost_deals)}.`
      : `You entered ${counted(waste.lost_deals, 'lost deal')}.`,
    `A lost deal is worth ${hoursPerDeal} hours of your time.`,
    'All of these hours could be spent on something else.',
  ];
}

export function riskWords(risk: CompetitiveRisk): string {
  const [critical, high] = [dollars(riskThresholds.CRITICAL), dollars(riskThresholds.HIGH)];
  return {
    CRITICAL: `The hours are worth more than ${critical} a year.`,
    HIGH: `The hours are worth more than ${high} and at most ${critical} a year.`,
    MODERATE: `The hours are worth at most ${high} a year.`,
  }[risk];
}

function kindInSentence(type: BusinessType): string {
  return type === 'saas' ? businessTypes.saas : businessTypes[type].toLowerCase();
}

/** Why a challenge is in the list. */
export function fitWords(challenge: Challenge, fit: Fit, business: Business): string {
  const { revenueMin, revenueMax, businessType } = challenge;
  const range =
    revenueMax >= 10_000_000
      ? `${millions(revenueMin)} or more`
      : `${millions(revenueMin)} to ${millions(revenueMax)}`;
  const kinds = businessType.includes('other')
    ? 'every type of business'
    : `${listed(businessType.map(kindInSentence))} businesses`;
  if (fit.revenue && fit.business)
    return `Matches your answers: it is for ${kinds}, at a yearly revenue of ${range}.`;
  const why =
    business.revenueLevel === null || business.businessType === null
      ? 'your audit is not complete'
      : fit.revenue
        ? `it is for ${kinds}`
        : `it is for a yearly revenue of ${range}, and yours counts as ${millions(revenueMidpoint(business.revenueLevel))}`;
  return `Not a full match, shown to give you a choice: ${why}.`;
}

function millions(amount: number): string {
  return amount >= 1_000_000 ? `$${amount / 1_000_000}M` : `$${amount / 1_000}K`;
}

/** The audit as facts for the models. */
function auditFacts(audit: AuditData): string[] {
  const { businessType, revenueLevel, competitivePressure } = audit;
  return [
    ...(businessType === null ? [] : [`Type of business: ${businessTypes[businessType]}`]),
    ...(revenueLevel === null ? [] : [`Yearly revenue: ${revenueLevels[revenueLevel].label}`]),
    ...(competitivePressure === null
      ? []
      : [`Competitors use AI better than we do: ${competitivePressures[competitivePressure]}`]),
  ];
}

/** The question that a challenge begins with: its facts to fill in, and the audit. */
export function questionOf(
  { template }: Challenge,
  audit: OnboardingAnswers['auditData'],
): NonNullable<OnboardingAnswers['question']> {
  return {
    challenge: template.challenge,
    context: [...auditFacts(audit), factLines(template)].join('\n'),
  };
}

/** What becomes of the bonus; null when there is none. */
export function bonusWords({ credits, worth_usd: worth, state }: Bonus): string | null {
  const worthWords = worth === null ? '' : ` (${dollars(worth)} at the price of Boost 50)`;
  const bonus = `an onboarding bonus of ${creditsInWords(credits)}${worthWords}`;
  switch (state) {
    case 'off':
      return null;
    case 'granted':
      return `We added ${bonus} to your balance.`;
    case 'available':
      return `Activation adds ${bonus} to your balance, once.`;
    case 'needs-confirmed-email':
      return `Confirm your email address to get ${bonus}.`;
    case 'already-given':
      return 'Another account with your email address already got the onboarding bonus.';
  }
}

type RunStep = NonNullable<Evolution['current_step']>;

export type DemoStep = 'routing' | 'coordinating' | 'collaborating' | 'synthesizing' | 'completed';

/** The step of the demonstration that a real run is at. */
export function demoStepOf(step: RunStep | null): DemoStep {
  switch (step) {
    case null:
    case 'initializing':
      return 'routing';
    case 'querying_models':
      return 'coordinating';
    case 'analyzing_responses':
    case 'detecting_bias':
      return 'collaborating';
    case 'synthesizing':
      return 'synthesizing';
    case 'completed':
      return 'completed';
  }
}

/** "480 minutes ÷ 5.2 minutes = 92 times", of the minutes as they are shown. */
export function speedWords(minutes: number | null): string {
  const multiple = speedMultiple(minutes === null ? null : shownMinutes(minutes));
  const times = multiple >= 10 ? Math.round(multiple) : Math.round(multiple * 10) / 10;
  return minutes === null
    ? `${figure(times)} times, our default for a run that was not measured`
    : `${workdayMinutes} minutes ÷ ${minutesInWords(minutes)} = ${figure(times)} times`;
}

export function minutesInWords(minutes: number): string {
  const shown = shownMinutes(minutes);
  return `${figure(shown)} ${shown === 1 ? 'minute' : 'minutes'}`;
}
