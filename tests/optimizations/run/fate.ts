import type { FailureClass } from '#services/models/model.ts';
import { waitingFor } from '#services/models/waiting.ts';
import { undecidableOption } from '#services/optimizations/run/events.ts';
import type {
  CallOutcome,
  Refines,
  Schedule,
  Seat,
  Slot,
  Stance,
} from '#services/optimizations/run/events.ts';
import { callsByStage } from '#services/optimizations/run/lanes.ts';
import { parseSlot } from '#services/optimizations/run/slots.ts';
import type { RunState } from '#services/optimizations/run/state.ts';
import { Fault } from '#tests/credits/ledger-oracle.ts';
import { createChance } from '#tests/support/chance.ts';
import {
  draft,
  failedChecks,
  ledgerOf,
  opinion,
  reviewBy,
  schedule as usualSchedule,
  verdict,
} from './run-script.ts';

/** What a world draws from its seed: its luck, schedules, lots and the answers of its models. */

/** Milliseconds of a call in a calm world. */
const longestMs = 12_500;

export type Persona = 'ok' | 'hang' | FailureClass;
type Fate = ReturnType<typeof createFate>;

export function createFate(seed: number) {
  const chance = createChance(seed);
  // How unlucky this world is; most are mostly well.
  const unlucky = [0.02, 0.05, 0.15, 0.4][chance.below(4)]!;
  return {
    ...chance,
    persona(): Persona {
      if (!chance.of(unlucky)) return 'ok';
      return personas[chance.below(personas.length)]!;
    },
    /** In three worlds of ten all providers are unavailable for up to five minutes. */
    outage(): { from: number; until: number } | null {
      if (!chance.of(0.3)) return null;
      const from = chance.below(120_000);
      return { from, until: from + chance.below(chance.of(0.5) ? 15_000 : 300_000) };
    },
    /** Milliseconds; in a calm world no model is slow. */
    duration: (calm: boolean) =>
      500 + chance.below(!calm && chance.of(0.05) ? 150_000 : longestMs - 500),
  };
}

const personas: readonly Persona[] = [
  'rate_limited',
  'unavailable',
  'connection',
  'timeout',
  'refusal',
  'malformed',
  'truncated',
  'billing',
  'hang',
];

export function scheduleOf(chance: Fate): Schedule {
  return {
    ...usualSchedule,
    reviewsPerSeat: 1 + chance.below(6),
    minFamilies: 2 + chance.below(2),
    deadlinesMs: {
      opinionsSoft: 5000 + chance.below(30_000),
      opinionsHard: 40_000 + chance.below(60_000),
      claims: 10_000 + chance.below(60_000),
      reviewsSoft: 5000 + chance.below(30_000),
      reviewsHard: 40_000 + chance.below(60_000),
      synthesis: 30_000 + chance.below(60_000),
      run: 60_000 + chance.below(400_000),
    },
  };
}

/** In three worlds of ten all calls wait for the same provider. The other worlds do not depend on it. */
export function drawnConcurrency(seed: number): number | null {
  const chance = createChance(seed + 1);
  return chance.of(0.3) ? 1 + chance.below(3) : null;
}

/** The same panel at one provider, with deadlines that are long enough for calls of `longestMs`. */
export function inLanes(
  panel: readonly Seat[],
  designed: Schedule,
  concurrency: number,
): { seats: readonly Seat[]; schedule: Schedule } {
  const provider = 'few-at-a-time';
  const there = <Model extends { provider: string }>(model: Model) => ({ ...model, provider });
  const seats = panel.map((seat, index) => ({ ...there(seat), model: `model-${index % 3}` }));
  const models = {
    extractors: designed.extractors.map(there),
    synthesizers: designed.synthesizers.map(there),
    verifiers: designed.verifiers.map((pair) => pair.map(there)),
  };
  const lanes = { [provider]: { concurrency, secondsPerCall: longestMs / 1500 } };
  const second = { softMs: 1000, hardMs: 1000 };
  const waiting = waitingFor(
    { opinions: second, claimsMs: 1000, reviews: second, synthesisMs: 1000, runMs: 1000 },
    callsByStage({ seats, ...models }),
    lanes,
  );
  if ('unavailable' in waiting) throw new Fault(waiting.unavailable);
  const { opinions, claimsMs, reviews, synthesisMs, runMs } = waiting.deadlines;
  return {
    seats,
    schedule: {
      ...designed,
      ...models,
      lanes,
      deadlinesMs: {
        opinionsSoft: opinions.softMs,
        opinionsHard: opinions.hardMs,
        claims: claimsMs,
        reviewsSoft: reviews.softMs,
        reviewsHard: reviews.hardMs,
        synthesis: synthesisMs,
        run: runMs,
      },
    },
  };
}

export function lotsOf(chance: Fate, calm: boolean) {
  const lots = [
    { source: 'bonus', credits: 5 + chance.below(20) },
    { source: 'other', credits: 5 + chance.below(20) },
    { source: 'purchase', credits: calm ? 200 : 10 + chance.below(50) },
  ] as const;
  return lots.filter((lot) => calm || lot.source === 'purchase' || chance.of(0.7));
}

export function answerOf(state: RunState, slot: Slot, chance: Fate, calm: boolean) {
  const rarely = (probability: number) => !calm && chance.of(probability);
  const stance = () => (['agree', 'agree', 'disagree', 'unsure'] as const)[chance.below(4)]!;
  // In some runs the models lean to the answer that it cannot be decided.
  const favourite = 'seed' in state && /^[01]/.test(state.seed) ? undecidableOption : 'o1';
  const option = () => (chance.of(0.7) ? favourite : 'o2');
  const parts = parseSlot(slot);
  switch (parts.kind) {
    case 'opinion':
      return opinion({ confidence: chance.below(101), injectionFound: rarely(0.05) });
    case 'claims':
      return ledgerOf('accepted' in state ? state.accepted : []);
    case 'review': {
      if (!('order' in state)) throw new Fault(`a review in the stage ${state.stage}`);
      if (state.refines) return secondVote(state.refines, stance, option());
      return reviewBy(state, parts.seat, {
        stance: stance(),
        optionId: option(),
        suspects: rarely(0.2) ? [state.order[0]!] : [],
        reversed: chance.of(0.3),
      });
    }
    case 'draft':
      return rarely(0.3) ? draft(failedChecks) : draft();
    case 'verify':
      return verdict(rarely(0.15));
  }
}

function secondVote({ claims }: Refines, stance: () => Stance, optionId: string): CallOutcome {
  const votes = claims.map((id) => [id, { stance: stance(), confidence: 70 }]);
  return { kind: 'second_vote', votes: Object.fromEntries(votes), optionId };
}
