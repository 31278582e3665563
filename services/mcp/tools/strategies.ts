import * as v from 'valibot';
import { StrategyId } from '#services/optimizations/contract/summary.ts';
import { defineTool } from '#services/mcp/tool.ts';
import { AllowSimulated } from '#services/optimizations/contract/requests.ts';

export const strategies = defineTool({
  name: 'strategies',
  title: 'List strategies',
  description: () =>
    'Lists the strategies that `ask` can use: the price of each in credits, the models on its panel, how long a run takes, and whether it can start now. Costs nothing. Call it before `ask` when the user cares about price, time or models.',
  scope: null,
  input: v.strictObject({ allow_simulated: v.optional(AllowSimulated, false) }),
  output: v.object({
    strategies: v.array(
      v.object({
        id: StrategyId,
        name: v.string(),
        description: v.string(),
        credits: v.pipe(v.number(), v.description('The price of a run; no more is charged')),
        models: v.pipe(v.array(v.string()), v.description('The models on the panel')),
        typical_seconds: v.pipe(v.number(), v.description('What a run usually takes')),
        at_most_seconds: v.pipe(v.number(), v.description('When a run ends at the latest')),
        recommended: v.boolean(),
        available: v.pipe(v.boolean(), v.description('Whether a run can start now')),
        unavailable: v.pipe(v.nullable(v.string()), v.description('In words, why it cannot')),
        simulated: v.pipe(
          v.boolean(),
          v.description('Whether a model of the panel would be simulated'),
        ),
      }),
    ),
  }),
  async call({ allow_simulated: allowSimulated }, { actions }) {
    const all = await actions.strategies(allowSimulated);
    return {
      structured: {
        strategies: all.map((one) => ({
          id: one.id,
          name: one.name,
          description: one.description,
          credits: one.credits,
          models: one.seats.map(({ name }) => name),
          typical_seconds: one.typical_seconds,
          at_most_seconds: one.at_most_seconds,
          recommended: one.recommended,
          available: one.available,
          unavailable: one.unavailable,
          simulated: one.simulated,
        })),
      },
    };
  },
});
