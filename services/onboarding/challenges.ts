import { revenueLevels } from './audit.ts';
import type { BusinessType, RevenueLevel } from './audit.ts';
import { challenges } from './challenge-list.ts';
import type { Challenge } from './challenge-list.ts';

/** Which challenges fit a business. Pure: the server and the page use the same functions. */

/** Without a revenue level. */
const defaultMidpoint = 500_000;
/** A challenge up to this revenue takes every larger one, too. */
const openMaximum = 10_000_000;
const shownAtLeast = 3;
const shownAtMost = 4;

export type Business = { revenueLevel: RevenueLevel | null; businessType: BusinessType | null };

export function revenueMidpoint(level: RevenueLevel | null): number {
  return level === null ? defaultMidpoint : revenueLevels[level].midpoint;
}

export type Fit = { revenue: boolean; business: boolean };

/** Whether a challenge fits the revenue, and whether it fits the type of business. */
export function fitOf(
  { revenueMin, revenueMax, businessType }: Challenge,
  { revenueLevel, businessType: own }: Business,
): Fit {
  const midpoint = revenueMidpoint(revenueLevel);
  return {
    revenue: midpoint >= revenueMin && (midpoint <= revenueMax || revenueMax >= openMaximum),
    business: businessType.includes('other') || (own !== null && businessType.includes(own)),
  };
}

/** Those that fit, in the order of the list, filled up to three with others; at most four. */
export function matchChallenges(
  business: Business,
  all: readonly Challenge[] = challenges,
): { challenge: Challenge; fit: Fit }[] {
  const rated = all.map((challenge) => ({ challenge, fit: fitOf(challenge, business) }));
  const fits = rated.filter(({ fit }) => fit.revenue && fit.business);
  const others = rated.filter((one) => !fits.includes(one));
  return [...fits, ...others.slice(0, Math.max(0, shownAtLeast - fits.length))].slice(
    0,
    shownAtMost,
  );
}

export function challengeOf(id: string): Challenge | undefined {
  return challenges.find((one) => one.id === id);
}
