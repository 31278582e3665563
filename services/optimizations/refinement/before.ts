import { undecidableOption } from '#services/optimizations/run/events.ts';
import type {
  Before,
  OptimizationEvent,
  OptionFixed,
  Seat,
} from '#services/optimizations/run/events.ts';
import { countReviews } from '#services/optimizations/run/stages.ts';
import { evolve, initialState } from '#services/optimizations/run/state.ts';
import type { RunState } from '#services/optimizations/run/state.ts';

/**
 * The council of a scored run as a refinement starts from it, in ids and numbers, and the seats whose
 * vote was counted.
 *
 * @throws Error for a run without scores
 */
export function councilBefore(
  runId: string,
  events: readonly OptimizationEvent[],
): { before: Before; seats: readonly Seat[]; contested: string[] } {
  const at = events.findIndex((event) => event.type === 'ScoresComputed');
  const scored = events[at];
  const state = events.slice(0, Math.max(at, 0)).reduce<RunState>(evolve, initialState());
  if (scored?.type !== 'ScoresComputed' || state.stage !== 'reviews')
    throw new Error(`${runId} has no scores to start from`);
  const { council, inputs } = countReviews(state);
  const { ledger, reviewOrder, seats } = council;
  const { claims, options, notes } = ledger;
  const isUndecidable = ({ id }: OptionFixed) => id === undecidableOption;
  return {
    seats,
    contested: scored.data.disagreements.map(({ about }) => about),
    before: {
      seed: council.seed,
      ...reviewOrder,
      ledger: {
        claims,
        // Runs of v0.1 did not offer it, and a second vote may choose it.
        options: options.some(isUndecidable)
          ? options
          : [...options, { id: undecidableOption, seats: [] }],
        notes,
      },
      scored: ledger.scored,
      opinions: council.opinions,
      ballots: council.ballots,
      inputs: inputs.map((slot) => (slot.includes('/') ? slot : `${runId}/${slot}`)),
      process: council.process,
    },
  };
}
