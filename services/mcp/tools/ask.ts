import * as v from 'valibot';
import { defineTool } from '#services/mcp/tool.ts';
import type { McpActions } from '#services/mcp/actions.ts';
import { CreateOptimizationRequest } from '#services/optimizations/contract/requests.ts';
import { StrategyId } from '#services/optimizations/contract/summary.ts';
import { parseInput } from '#services/platform/http/http.ts';
import { joinedWithinMinutes } from '#services/programs/asked-runs.ts';
import { Begun, begunRun } from './begun.ts';

const { challenge, context, objectives, constraints, challenge_type, allow_simulated } =
  CreateOptimizationRequest.entries;

const Question = v.strictObject({
  question: v.pipe(
    challenge,
    v.description('One business question that can be decided, in full sentences'),
  ),
  context: v.pipe(
    context,
    v.description('Facts that the models should know: figures, market, what was tried'),
  ),
  strategy: v.pipe(
    v.optional(StrategyId, 'balanced'),
    v.description('The id of a strategy; `strategies` lists them with their prices'),
  ),
  challenge_type: v.pipe(challenge_type, v.description('What the question is about')),
  objectives: v.pipe(objectives, v.description('What the decision should achieve')),
  constraints: v.pipe(constraints, v.description('What the decision must respect')),
  allow_simulated,
});

export const ask = defineTool({
  name: 'ask',
  title: 'Ask a panel of models',
  description: (actions) =>
    `Puts one business question to a panel of AI models and starts a run. COSTS CREDITS of the user: ${pricesOf(actions)}. The price is reserved now and charged when the run ends; what is not used is returned. Ask the user before you spend them. Answers at once with a run_id; the recommendation takes minutes, so call \`follow\` and then \`result\`. An identical call within ${joinedWithinMinutes} minutes joins the run of the first one and costs nothing more.`,
  scope: 'run',
  input: Question,
  output: Begun,
  async call({ question, ...asked }, { actions }) {
    // The texts are checked already; this makes the request that the form of the site makes.
    const request = parseInput(CreateOptimizationRequest, { challenge: question, ...asked });
    const runId = await actions.ask(request);
    return { structured: begunRun(await actions.begun(runId), actions) };
  },
});

function pricesOf({ prices }: McpActions): string {
  return prices.map(({ id, credits }) => `${id} ${credits}`).join(', ');
}
