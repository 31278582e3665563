import type { Queryable } from '#db/connect.ts';
import { readBalance } from '#projections/credit-account.ts';
import { readChain } from '#projections/optimization-list.ts';
import type { RunRow } from '#projections/optimization-list.ts';
import type { Offer } from '#services/models/offer.ts';
import type { ModelRegistry } from '#services/models/registry.ts';
import { statusOf } from '#services/optimizations/reading/describe.ts';
import { describeRow } from '#services/optimizations/reading/list.ts';
import type { RunView } from '#services/optimizations/reading/view.ts';
import type { CouncilModel } from '#services/optimizations/run/events.ts';
import type { Sealer } from '#services/platform/seal.ts';
import { refinableOf } from './offer.ts';
import type { RefinementFacts } from './offer.ts';

/** What a run's page says about its refinements, and what beginning one is decided from. */
export type FactsDependencies = {
  pool: Queryable;
  registry: Pick<ModelRegistry, 'offers'>;
  sealer: Pick<Sealer, 'open'>;
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
  return {
    ...view,
    refinements: await Promise.all(
      found.refinements.map(async (row) => describeRow(dependencies.sealer, row)),
    ),
    refinable: statusOf(view) === 'completed' ? refinableOf(found.facts) : null,
  };
}

/** Null for a run that does not exist. */
export async function readRefinementFacts(
  { pool, registry }: Pick<FactsDependencies, 'pool' | 'registry'>,
  userId: string,
  view: RunView,
): Promise<{ facts: RefinementFacts; notOffered: string[]; refinements: RunRow[] } | null> {
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
