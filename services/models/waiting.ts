import { isOnThisMachine } from '#services/platform/process/env.ts';
import type { CompatibleEndpoint } from '#services/platform/process/env.ts';
import { displayNameOf } from './provider-list.ts';
import { longestRunMs } from './strategies.ts';
import type { Strategy } from './strategies.ts';

/**
 * Providers that answer few calls at a time: how many, how long a call takes there, and what that does
 * to the deadlines of a strategy (`docs/decisions/0039-lanes.md`).
 */
export type Lane = {
  /** Calls at a time, over all processes. */
  concurrency: number;
  /** Seconds of a slow call; null while it is unknown, and the designed deadlines hold. */
  secondsPerCall: number | null;
};

/** By provider name. */
export type Lanes = Readonly<Record<string, Lane>>;

/** Ollama, LM Studio and their like answer one call after the other. */
const laneOnThisMachine: Lane = { concurrency: 1, secondsPerCall: 120 };
const laneOfEndpoints: Lane = { concurrency: 4, secondsPerCall: null };

/** To a provider without lanes. Each worker process has its part of it. */
export const usualConcurrency = 32;

/** A provider that takes more counts as one without lanes: its calls are limited in each process. */
const mostLanes = 8;

/** An endpoint of the operator. */
export type Endpoint = Pick<CompatibleEndpoint, 'name' | 'baseUrl' | 'concurrency'>;

/** The providers among `providers` whose calls wait in lanes; all others are left out. */
export function lanesOf(providers: readonly string[], endpoints: readonly Endpoint[]): Lanes {
  return Object.fromEntries(
    providers
      .map((provider) => [provider, laneOf(provider, endpoints)] as const)
      .filter(([, lane]) => lane.concurrency <= mostLanes),
  );
}

function laneOf(provider: string, endpoints: readonly Endpoint[]): Lane {
  if (provider === 'ollama') return laneOnThisMachine;
  const endpoint = endpoints.find(({ name }) => name === provider);
  if (endpoint === undefined) return { concurrency: usualConcurrency, secondsPerCall: null };
  const usual = isOnThisMachine(endpoint.baseUrl) ? laneOnThisMachine : laneOfEndpoints;
  return { ...usual, concurrency: endpoint.concurrency ?? usual.concurrency };
}

// ── what was measured ───────────────────────────────────────────────────────────────────────────

/** Fewer calls say too little of a provider. */
const leastMeasured = 20;

/**
 * What nine calls of ten stay below.
 *
 * @param latenciesMs of completed calls, in any order
 * @returns whole seconds, 1 at least; null when fewer than 20 calls were measured
 */
export function measuredSeconds(latenciesMs: readonly number[]): number | null {
  if (latenciesMs.length < leastMeasured) return null;
  const sorted = latenciesMs.toSorted((one, other) => one - other);
  const p90 = sorted[Math.ceil(0.9 * sorted.length) - 1] ?? 0;
  return Math.max(1, Math.ceil(p90 / 1000));
}

// ── deadlines ───────────────────────────────────────────────────────────────────────────────────

export type Deadlines = Strategy['deadlines'];
type Stage = 'opinions' | 'claims' | 'reviews' | 'synthesis';

/** The calls of one step, by provider: they do not wait for each other's results. */
export type Step = Readonly<Record<string, number>>;

/** A stage's steps, each of which needs the results of the one before. */
export type CallsByStage = Readonly<Record<Stage, readonly Step[]>>;

/**
 * `typicalSeconds` null: the waiting decides nothing, and the strategy's own figure holds.
 * `unavailable` is a sentence for people.
 */
export type Waiting =
  | { deadlines: Deadlines; typicalSeconds: number | null }
  | { unavailable: string };

/** A call may take so much longer than `secondsPerCall`, on average over its stage. */
const slack = 1.5;

/**
 * The deadlines of a run, long enough for every call to wait for its place. A stage that waiting
 * decides has no soft deadline of its own: it closes when all have answered, or at the hard one.
 */
export function waitingFor(designed: Deadlines, calls: CallsByStage, lanes: Lanes): Waiting {
  const opinionsMs = stageMs(calls.opinions, lanes);
  const claimsMs = stageMs(calls.claims, lanes);
  const reviewsMs = stageMs(calls.reviews, lanes);
  const synthesisMs = stageMs(calls.synthesis, lanes);
  const deadlines = {
    opinions: longer(designed.opinions, opinionsMs),
    claimsMs: Math.max(designed.claimsMs, claimsMs),
    reviews: longer(designed.reviews, reviewsMs),
    synthesisMs: Math.max(designed.synthesisMs, synthesisMs),
  };
  const waits =
    opinionsMs > designed.opinions.hardMs ||
    claimsMs > designed.claimsMs ||
    reviewsMs > designed.reviews.hardMs ||
    synthesisMs > designed.synthesisMs;
  if (!waits) return { deadlines: designed, typicalSeconds: null };
  const { opinions, reviews } = deadlines;
  const sumMs = opinions.hardMs + deadlines.claimsMs + reviews.hardMs + deadlines.synthesisMs;
  // A tenth more, for what lies between the stages.
  const runMs = Math.max(designed.runMs, sumMs + Math.ceil(sumMs / 10));
  if (runMs > longestRunMs) return { unavailable: tooLong(calls, lanes, runMs) };
  return { deadlines: { ...deadlines, runMs }, typicalSeconds: Math.round(runMs / 2000) };
}

function longer(designed: Deadlines['opinions'], neededMs: number): Deadlines['opinions'] {
  return neededMs > designed.hardMs ? { softMs: neededMs, hardMs: neededMs } : designed;
}

/** Milliseconds that a stage may take where the providers let its calls wait; 0 where none does. */
function stageMs(steps: readonly Step[], lanes: Lanes): number {
  return steps.reduce((sum, step) => sum + waitMs(step, lanes), 0);
}

/**
 * Milliseconds until so many calls, by provider, have been answered.
 *
 * @returns 0 where no lane has known seconds per call
 */
export function waitMs(calls: Step, lanes: Lanes): number {
  return Math.max(
    0,
    ...Object.entries(calls).map(([provider, count]) => laneMs(lanes, provider, count)),
  );
}

function laneMs(lanes: Lanes, provider: string, calls: number): number {
  const lane = lanes[provider];
  if (lane === undefined || lane.secondsPerCall === null) return 0;
  return Math.ceil(Math.ceil(calls / lane.concurrency) * lane.secondsPerCall * slack * 1000);
}

function tooLong(calls: CallsByStage, lanes: Lanes, runMs: number): string {
  const all = Object.values(calls).flat();
  const timeOf = (provider: string) =>
    all.reduce((sum, step) => sum + laneMs(lanes, provider, step[provider] ?? 0), 0);
  const slowest = Object.keys(lanes).toSorted((one, other) => timeOf(other) - timeOf(one))[0] ?? '';
  const { concurrency = 1, secondsPerCall = 0 } = lanes[slowest] ?? {};
  const atOnce = concurrency === 1 ? 'one call' : `${concurrency} calls`;
  return `${displayNameOf(slowest)} answers ${atOnce} at a time, in about ${secondsPerCall} seconds each. A run could take ${hours(runMs)}; the limit is ${hours(longestRunMs)}.`;
}

/** `3 h`, `4 h 25 min`. */
export function hours(milliseconds: number): string {
  const minutes = Math.ceil(milliseconds / 60_000);
  const parts = [
    ...(minutes >= 60 ? [`${Math.floor(minutes / 60)} h`] : []),
    ...(minutes % 60 > 0 ? [`${minutes % 60} min`] : []),
  ];
  return parts.join(' ');
}
