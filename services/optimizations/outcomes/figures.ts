import type pg from 'pg';
import { dashboardLimits } from '#services/optimizations/contract/dashboard.ts';
import type { OutcomeFigures } from '#services/optimizations/contract/outcomes.ts';
import { figuresOfWeek, weekOf } from '#services/optimizations/dashboard/community.ts';
import { wilson } from './bands.ts';

/** How results of each band of agreement turned out. Nothing reads it but the page that shows it. */
export async function readOutcomeFigures(pool: pg.Pool, now: number): Promise<OutcomeFigures> {
  const week = weekOf(now);
  const { outcomes } = await figuresOfWeek(pool, week);
  const least = dashboardLimits.outcomesLeast;
  return {
    as_of: week.toISOString(),
    least,
    bands: outcomes.map(({ band, outcomes: count, favorable }) => ({
      band,
      outcomes: count,
      ...(count < least
        ? { share: null, interval: null }
        : { share: favorable / count, interval: wilson(favorable, count) }),
    })),
  };
}
