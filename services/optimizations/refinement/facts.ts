import type { Queryable } from '#db/connect.ts';
import { readBalance } from '#projections/credit-account.ts';
import { newestResult, readChain } from '#projections/optimization-list.ts';
import type { RunRow } from '#projections/optimization-list.ts';
import type { Offer } from '#services/models/offer.ts';
import type { ModelRegistry } from '#services/models/registry.ts';
import type { NewerAnswer } from '#services/optimizations/contract/refinement.ts';
import { describeResult } from '#services/optimizations/reading/describe-result.ts';
import { statusOf } from '#services/optimizations/reading/describe.ts';
import { describeRow } from '#services/optimizations/reading/list.ts';
import type { ReadRun } from '#services/optimizations/reading/read-run.ts';
import type { RunView } from '#services/optimizations/reading/view.ts';
import { headingWords } from '#services/optimizations/reading/words/result.ts';
import { takenUpSummary } from '#services/optimizations/reading/words/taken-up.ts';
import type { CouncilModel } from '#services/optimizations/run/events.ts';
import type { Sealer } from '#services/platform/seal.ts';
import { refinableOf } from './offer.ts';
import type { RefinementFacts } from './offer.ts';

/** What a run's page says about its refinements, and what beginning one is decided from. */
export type FactsDependencies = {
  pool: Queryable;
  registry: Pick<ModelRegistry, 'offers'>;
  sealer: Pick<Sealer, 'open'>;
  readRun: ReadRun;
};

/** The view with the run's refinements, and whether one more can be begun. */
export async function withRefinements(
  dependencies: FactsDependencies,
  userId: string,
  view: RunView,
): Promise<RunView> {
  if (view.refines === null && statusOf(view) !== 'completed') return view;
  const found = await readRefinementFacts(dependencies, userId, view);
  if (found === null) return view;
  const place = found.refinements.findIndex(({ run_id: id }) => id === view.id);
  return {
    ...view,
    // The stored number counts those that never began, too.
    refines: view.refines && place >= 0 ? { ...view.refines, number: place + 1 } : view.refines,
    refinements: await Promise.all(
      found.refinements.map(async (row, index) => ({
        ...(await describeRow(dependencies.sealer, row)),
        refinement_number: index + 1,
      })),
    ),
    resultAt: found.resultAt,
    newer: await newerAnswer(dependencies, view, found.refinements, place),
    refinable: statusOf(view) === 'completed' ? refinableOf(found.facts) : null,
  };
}

/** @param place of the run itself among the refinements; -1 for their root */
async function newerAnswer(
  { readRun }: Pick<FactsDependencies, 'readRun'>,
  view: RunView,
  refinements: readonly RunRow[],
  place: number,
): Promise<NewerAnswer | null> {
  const newest = refinements.findLastIndex(({ status }) => status === 'completed');
  const row = refinements[newest];
  if (row === undefined || newest <= place) return null;
  const newer = await readRun(row.run_id);
  const [result, own] = [newer && describeResult(newer.view), describeResult(view)];
  return result === null
    ? null
    : {
        id: row.run_id,
        number: newest + 1,
        outcome: headingWords(result),
        decision: result.decision,
        changed: newer === null ? null : takenUpSummary(newer.view),
        same_option:
          own?.heading === result.heading &&
          own.option_id === result.option_id &&
          own.tie_break === result.tie_break,
        ended_at: newer?.view.endedAt ?? null,
      };
}

/** Null for a run that does not exist. */
export async function readRefinementFacts(
  { pool, registry }: Pick<FactsDependencies, 'pool' | 'registry'>,
  userId: string,
  view: RunView,
): Promise<{
  facts: RefinementFacts;
  notOffered: string[];
  refinements: RunRow[];
  /** When the newest result of the chain was there. */
  resultAt: string | null;
} | null> {
  const chain = await readChain(pool, view.refines?.root ?? view.id);
  if (chain === null) return null;
  const { root, refinements } = chain;
  const [offers, balance] = await Promise.all([registry.offers(), readBalance(pool, userId)]);
  const seats = votingSeats(view);
  const notOffered = seats.filter((seat) => !isOffered(offers, seat)).map(({ seat }) => seat);
  const { synthesizers, verifiers } = view.schedule;
  return {
    refinements,
    notOffered,
    resultAt: newestResult(chain)?.ended_at ?? null,
    facts: {
      rootPrice: root.price,
      refinements,
      from: {
        runId: view.id,
        isRefinement: view.refines !== null,
        completed: statusOf(view) === 'completed',
        erased: view.challenge === null,
        scored: view.ledger?.scored === true,
      },
      seats: seats.length,
      offered: seats.length - notOffered.length,
      writers: [...synthesizers, ...verifiers.flat()].every((one) => isOffered(offers, one)),
      debt: balance.debt_credits,
    },
  };
}

/** The seats whose vote was counted. */
function votingSeats({ seats, accepted, excluded, refines }: RunView): RunView['seats'] {
  if (refines !== null) return seats;
  return seats.filter(({ seat }) => accepted?.includes(seat) === true && seat !== excluded?.seat);
}

function isOffered(
  offers: readonly Offer[],
  { model, provider, simulated }: Pick<CouncilModel, 'model' | 'provider' | 'simulated'>,
): boolean {
  return offers.some(
    (offer) =>
      offer.model === model && offer.provider === provider && offer.simulated === simulated,
  );
}
