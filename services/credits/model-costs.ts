import type pg from 'pg';
import { readUntil } from '#projections/engine/checkpoint.ts';
import { modelCosts, readAnswerCosts } from '#projections/model-costs.ts';
import type { AnswerCosts } from '#projections/model-costs.ts';
import type { Catalogue } from '#services/models/catalogue.ts';
import { makerNameOf } from '#services/models/seating/words.ts';
import { creditLimits } from './contract.ts';
import type { ModelCosts } from './contract.ts';

type Measured = ModelCosts['models'][number]['simulated'];

/** The models of the catalogue, with their prices at `now` and what their recent answers cost. */
export async function readModelCosts(
  pool: pg.Pool,
  { models, priceOf }: Catalogue,
  now: Date,
): Promise<ModelCosts> {
  const until = await readUntil(pool, [modelCosts], null);
  const since = new Date(now.getTime() - creditLimits.measuredDays * dayMs);
  const costs = await readAnswerCosts(pool, since.toISOString().slice(0, 10));
  const measuredOf = (model: string, simulated: boolean) =>
    measured(costs.find((row) => row.model === model && row.simulated === simulated));
  return {
    models: models.map(({ id, displayName, family, provider }) => {
      const price = priceOf(id, now.toISOString());
      return {
        id,
        name: displayName,
        provider: provider ?? family,
        maker: makerNameOf(family),
        input_price: price?.inputPerMTok ?? null,
        cached_input_price: price?.cachedInputPerMTok ?? null,
        output_price: price?.outputPerMTok ?? null,
        ...measuredOf(id, false),
        simulated: measuredOf(id, true),
      };
    }),
    as_of: until.toISOString(),
  };
}

const dayMs = 86_400_000;

function measured(costs: AnswerCosts | undefined): Measured {
  if (costs === undefined || costs.answers < creditLimits.measuredAnswers)
    return { answers: null, average_cost: null };
  const average = Math.round(costs.costMicros / costs.answers);
  return { answers: costs.answers, average_cost: average / 1_000_000 };
}
