import type { PanelFacts } from '#services/optimizations/contract/panel.ts';

/** "about 2 min (usually under 4)"; until it was measured, the time after which a run is ended. */
export function durationWords({
  duration,
  at_most_seconds: most,
}: Pick<PanelFacts, 'duration' | 'at_most_seconds'>): string {
  if (duration === null) return `at most ${inUnits(most, Math.ceil)}, not yet measured here`;
  const about = inUnits(duration.p50, Math.round);
  const under = inUnits(duration.p90, Math.ceil);
  if (about === under) return `about ${about}`;
  // The unit of minutes is said once.
  const isRepeated = [about, under].every((words) => words.endsWith(minutes));
  return `about ${about} (usually under ${isRepeated ? under.replace(minutes, '') : under})`;
}

/** "about 2 min"; before it was measured it says so. */
export function aboutWords({ duration }: Pick<PanelFacts, 'duration'>): string {
  return duration === null ? 'not yet timed' : `about ${inUnits(duration.p50, Math.round)}`;
}

/** In steps of 5 seconds, from 90 seconds on of half a minute. */
function inUnits(seconds: number, round: (value: number) => number): string {
  if (seconds < 90) return `${Math.max(1, round(seconds / 5)) * 5}s`;
  return `${round(seconds / 30) / 2}${minutes}`;
}

/** No line ends before the unit. */
const minutes = '\u00A0min';
