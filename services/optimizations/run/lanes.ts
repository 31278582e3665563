import type { CallsByStage } from '#services/models/waiting.ts';
import { seededInteger } from '#services/platform/seeded.ts';
import type { Schedule, Seat, Slot } from './events.ts';
import { owedSlots } from './owed.ts';
import { modelOf, parseSlot, stageOf } from './slots.ts';
import { isOpen } from './state.ts';
import type { OpenState, RunState } from './state.ts';

/**
 * Where calls wait for a provider that answers few at a time. Each of its lanes is a queue of jobs, and
 * a queue runs one job at a time over all processes. A run that began earlier goes first in every lane,
 * so a later run cannot make it late; a later run counts the earlier ones in its own deadlines
 * (`docs/decisions/0039-lanes.md`).
 */
export type Place = { queue: string; runAt: string; priority: number };

/**
 * A call's place: in the order of the runs' starts, within a stage in the order of the models, so that
 * a model is loaded once. A retry keeps the order of its run, as soon as it is due.
 *
 * @param retryAt ISO 8601 UTC; null for a first attempt
 * @returns null when the provider's calls do not wait in lanes
 */
export function placeOf(state: OpenState, slot: Slot, retryAt: string | null): Place | null {
  const { provider } = modelOf(slot, state);
  const lane = state.schedule.lanes?.[provider];
  if (lane === undefined) return null;
  const index = indexInStage(state, slot, provider);
  // Calls that are alone in their stage would otherwise all have the first lane.
  const first = seededInteger(state.seed, 'lane', lane.concurrency);
  const queue = `calls ${provider} ${(first + index) % lane.concurrency}`;
  const firstRunAt = new Date(Date.parse(state.startedAt) + index).toISOString();
  return { queue, runAt: retryAt ?? firstRunAt, priority: orderOf(state.startedAt) };
}

/**
 * The order of a run among others, as the job queue takes it: 16 bits, smaller first. It counts spans of
 * ten minutes, so that it begins again after 455 days only; within a span the time of the job decides.
 */
function orderOf(startedAt: string): number {
  return (Math.floor(Date.parse(startedAt) / spanMs) % 2 ** 16) - 2 ** 15;
}

const spanMs = 600_000;

function indexInStage(state: OpenState, slot: Slot, provider: string): number {
  const parts = parseSlot(slot);
  switch (parts.kind) {
    case 'opinion':
    case 'review':
      return state.seats
        .filter((seat) => seat.provider === provider)
        .toSorted(byModel)
        .findIndex((seat) => seat.seat === parts.seat);
    case 'verify':
      return parts.verifier - 1;
    case 'claims':
    case 'draft':
      return 0;
  }
}

function byModel(one: Seat, other: Seat): number {
  return one.model < other.model ? -1 : one.model > other.model ? 1 : 0;
}

/** A call's share of the time of its stage, 0–1; null when it waits in no lane. */
export function shareOfStage(
  run: { seats: readonly Seat[]; schedule: Schedule; synthesizers?: readonly number[] },
  slot: Slot,
): number | null {
  const { seats, schedule } = run;
  const { provider } = modelOf(slot, run);
  const lane = schedule.lanes?.[provider];
  if (lane === undefined) return null;
  const steps = callsByStage({ seats, ...schedule })[stageOf(slot)];
  const turns = steps.reduce(
    (sum, step) => sum + Math.ceil((step[provider] ?? 0) / lane.concurrency),
    0,
  );
  return 1 / Math.max(1, turns);
}

// ── how many calls a run makes ──────────────────────────────────────────────────────────────────

type Called = { readonly provider: string };

/** The models of a run, in the shape of `OptimizationCreated`. */
export type CalledModels = {
  seats: readonly Called[];
  extractors: readonly Called[];
  synthesizers: readonly Called[];
  verifiers: readonly (readonly Called[])[];
};

/**
 * The calls of a run whose draft is accepted at once. The second extractor counts, because its stage
 * must have time for it.
 */
export function callsByStage({
  seats,
  extractors,
  synthesizers,
  verifiers,
}: CalledModels): CallsByStage {
  return {
    opinions: [countByProvider(seats)],
    claims: extractors.map((extractor) => countByProvider([extractor])),
    reviews: [countByProvider(seats)],
    synthesis: [
      countByProvider(synthesizers.slice(0, 1)),
      countByProvider(verifiers.slice(0, 1).flat()),
    ],
  };
}

function countByProvider(models: readonly Called[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { provider } of models) counts[provider] = (counts[provider] ?? 0) + 1;
  return counts;
}

/** The calls that a run is still expected to make, by provider. */
export function callsLeft(state: RunState): Record<string, number> {
  if (!isOpen(state)) return {};
  const { seats, schedule, stage } = state;
  const slots = owedSlots(state);
  const owed = slots.map((slot) => modelOf(slot, state));
  const extractor = schedule.extractors.slice(0, 1);
  const writer = schedule.synthesizers.slice(0, 1);
  const readers = schedule.verifiers.slice(0, 1).flat();
  const all = {
    opinions: [...owed, ...extractor, ...seats, ...writer, ...readers],
    claims: [...owed, ...seats, ...writer, ...readers],
    reviews: [...owed, ...writer, ...readers],
    synthesis: slots.some((slot) => parseSlot(slot).kind === 'draft')
      ? [...owed, ...readers]
      : owed,
  };
  return countByProvider(all[stage]);
}
