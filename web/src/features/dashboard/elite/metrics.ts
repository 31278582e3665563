import type { DashboardStats } from '#services/optimizations/contract/panel.ts';
import {
  impossibilityIndex,
  leastTimedRuns,
  pointsPerModel,
  speedOf,
} from '#services/optimizations/dashboard/formulas.ts';
import { formatNumber, shownMinutes, workdayMinutes } from '#services/platform/numbers.ts';

/** A figure of the elite dashboard with the arithmetic behind it. */
export type Metric = {
  readonly label: string;
  readonly value: string;
  readonly detail: string;
  /** The formula with the user's own numbers. */
  readonly formula: string;
};

/** The cards, each from the user's own runs. The speed comes with the third timed run. */
export function metricsOf(stats: DashboardStats, locale?: string): Metric[] {
  const figure = (value: number, digits = 1): string =>
    formatNumber(value, { maximumFractionDigits: digits }, locale);
  const {
    average_minutes: minutes,
    timed_optimizations: timed,
    success_rate: rate,
    models_total: models,
    average_agreement: agreement,
    scored_optimizations: scored,
    completed_optimizations: completed,
  } = stats;
  /** Of the minutes as they are shown, so that the card's arithmetic can be redone. */
  const shown = minutes === null || speedOf(stats) === null ? null : shownMinutes(minutes);
  const index = impossibilityIndex(stats);
  return [
    ...(shown === null ? [] : [speedMetric(shown, timed, figure)]),
    {
      label: 'Impossibility Index',
      value: index === null || rate === null ? '—' : figure(index, 0),
      detail: index === null ? 'No finished runs yet' : 'of 100',
      formula:
        index === null || rate === null
          ? `Success rate × 100 + ${pointsPerModel} for each different model that answered you, 100 at most.`
          : `Success rate ${figure(rate * 100)} + ${pointsPerModel} × ${figure(models)} different models that answered you = ${figure(rate * 100 + models * pointsPerModel)}, 100 at most.`,
    },
    {
      label: 'Average Agreement',
      value: agreement === null ? '—' : figure(agreement, 0),
      detail: agreement === null ? 'No scored runs yet' : `of 100, over ${runs(scored)}`,
      formula:
        'The mean agreement score of your completed runs. It measures how far the models agree, not whether they are right.',
    },
    {
      label: 'Decisions',
      value: figure(completed),
      detail: `${figure(models)} different ${models === 1 ? 'model' : 'models'} answered`,
      formula: `Completed runs, deleted ones included. Refinements, canceled runs, and failed runs don't count.`,
    },
  ];
}

function runs(count: number): string {
  return `${count} completed ${count === 1 ? 'run' : 'runs'}`;
}

function speedMetric(
  minutes: number,
  timed: number,
  figure: (value: number, digits?: number) => string,
): Metric {
  const speed = workdayMinutes / minutes;
  const times = figure(speed, speed < 10 ? 1 : 0);
  return {
    label: 'Speed',
    value: `${times}x`,
    detail: `${figure(minutes)} min a run, against a working day`,
    formula: `${workdayMinutes} minutes (an 8-hour day) ÷ ${figure(minutes)} minutes, the average of your ${runs(timed)} = ${times}. Shown from ${leastTimedRuns} completed runs on.`,
  };
}
