import { askedDays } from './events.ts';
import type { AskedDay } from './events.ts';

/** When the owner of a result is asked what came of it, and what the answers say together. */

const dayMs = 86_400_000;

/** The first moment at which `asked` days have passed since a result; ISO 8601, as are all times here. */
export function askedFrom(endedAt: string, asked: AskedDay): string {
  return new Date(Date.parse(endedAt) + asked * dayMs).toISOString();
}

export function isAsked(endedAt: string, asked: AskedDay, now: string): boolean {
  return now >= askedFrom(endedAt, asked);
}

/** A later day takes the place of an earlier one that was never answered. */
export function openQuestion(
  endedAt: string,
  answered: readonly AskedDay[],
  now: string,
): { asked: AskedDay; since: string } | null {
  const asked = askedDays.findLast((day) => isAsked(endedAt, day, now));
  if (asked === undefined || answered.some((day) => day >= asked)) return null;
  return { asked, since: askedFrom(endedAt, asked) };
}
