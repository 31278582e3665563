import { workdayMinutes } from '#services/platform/numbers.ts';

/**
 * What the audit asks, and what it computes. Pure: the server and the page use the same functions.
 * Money is in whole US dollars.
 */

/** Levels of yearly revenue. `midpoint` stands for the level when challenges are matched. */
export const revenueLevels = {
  '500k-1m': { label: '$500K to $1M', hourlyRate: 400, midpoint: 750_000 },
  '1m-3m': { label: '$1M to $3M', hourlyRate: 500, midpoint: 2_000_000 },
  '3m-7m': { label: '$3M to $7M', hourlyRate: 650, midpoint: 5_000_000 },
  '7m+': { label: 'More than $7M', hourlyRate: 800, midpoint: 10_000_000 },
} as const;
export type RevenueLevel = keyof typeof revenueLevels;
export const revenueLevelIds = Object.keys(revenueLevels) as [RevenueLevel, ...RevenueLevel[]];

export const businessTypes = {
  consulting: 'Consulting',
  saas: 'SaaS',
  agency: 'Agency',
  ecommerce: 'E-commerce',
  content: 'Content',
  other: 'Other',
} as const;
export type BusinessType = keyof typeof businessTypes;
export const businessTypeIds = Object.keys(businessTypes) as [BusinessType, ...BusinessType[]];

/** Answers to "Do competitors use AI better than you do?" */
export const competitivePressures = {
  definitely: 'Definitely',
  probably: 'Probably',
  maybe: 'Maybe',
  no: 'No',
} as const;
export type CompetitivePressure = keyof typeof competitivePressures;
export const competitivePressureIds = Object.keys(competitivePressures) as [
  CompetitivePressure,
  ...CompetitivePressure[],
];

export const aiSubscriptions = [
  'ChatGPT Plus ($20/mo)',
  'Claude Pro ($20/mo)',
  'Gemini Advanced ($20/mo)',
  'GitHub Copilot ($10/mo)',
  'Midjourney ($30/mo)',
  'Other AI subscriptions',
] as const;

export const auditLimits = { hours: 168, spend: 1_000_000, deals: 10_000 } as const;

/** Without a revenue level. */
const defaultHourlyRate = 400;
const weeksAYear = 52;
/** One lost deal is assumed for so many hours a year. */
export const hoursPerLostDeal = 20;
/** A lost deal is taken to be worth so many hours of work. */
export const hoursPerDeal = 10;
/** Dollars a year above which the risk has the name. */
export const riskThresholds = { CRITICAL: 250_000, HIGH: 100_000 } as const;

export const competitiveRisks = ['CRITICAL', 'HIGH', 'MODERATE'] as const;
export type CompetitiveRisk = (typeof competitiveRisks)[number];

export type WasteAnalysis = {
  weeklyOrchestrationHours: number;
  /** Hours a year. */
  annualWaste: number;
  dollarValueWaste: number;
  opportunityCost: number;
  competitiveRisk: CompetitiveRisk;
  dollars_per_hour: number;
  /** As answered, or assumed without an answer. */
  lost_deals: number;
  lost_deals_assumed: boolean;
};

export function hourlyRate(level: RevenueLevel | null): number {
  return level === null ? defaultHourlyRate : revenueLevels[level].hourlyRate;
}

type Answered = {
  orchestrationHours: number;
  revenueLevel: RevenueLevel | null;
  businessType: BusinessType | null;
};

/** Whether there is enough to calculate with. */
export function isCalculable({
  orchestrationHours,
  revenueLevel,
}: Omit<Answered, 'businessType'>): boolean {
  return orchestrationHours > 0 && revenueLevel !== null;
}

/** Whether stage 1 is complete. */
export function isAudited({ businessType, ...answered }: Answered): boolean {
  return isCalculable(answered) && businessType !== null;
}

/** What a year of orchestrating AI tools by hand costs, as an estimate. */
export function wasteOf(audit: {
  orchestrationHours: number;
  revenueLevel: RevenueLevel | null;
  lostDeals: number | null;
}): WasteAnalysis {
  const annualWaste = audit.orchestrationHours * weeksAYear;
  const rate = hourlyRate(audit.revenueLevel);
  const lostDeals = audit.lostDeals ?? Math.floor(annualWaste / hoursPerLostDeal);
  const dollarValueWaste = annualWaste * rate;
  return {
    weeklyOrchestrationHours: audit.orchestrationHours,
    annualWaste,
    dollarValueWaste,
    opportunityCost: lostDeals * rate * hoursPerDeal,
    competitiveRisk: riskOf(dollarValueWaste),
    dollars_per_hour: rate,
    lost_deals: lostDeals,
    lost_deals_assumed: audit.lostDeals === null,
  };
}

/** By the value of the wasted hours. */
export function riskOf(dollars: number): CompetitiveRisk {
  if (dollars > riskThresholds.CRITICAL) return 'CRITICAL';
  return dollars > riskThresholds.HIGH ? 'HIGH' : 'MODERATE';
}

const defaultSpeedMultiple = 96;

/** How many times faster than a working day; the default while no time was measured. */
export function speedMultiple(minutes: number | null): number {
  return minutes === null || minutes <= 0 ? defaultSpeedMultiple : workdayMinutes / minutes;
}
