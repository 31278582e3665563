import * as v from 'valibot';
import { defineTool } from '#services/mcp/tool.ts';
import { RefineRequest } from '#services/optimizations/contract/refinement.ts';
import { IdText } from '#services/platform/contract.ts';
import { joinedWithinMinutes } from '#services/programs/asked-runs.ts';
import { Begun, begunRun } from './begun.ts';

export const refine = defineTool({
  name: 'refine',
  title: 'Refine a result',
  description: () =>
    `Lets the models of a completed run vote again, with an instruction, with a fact that differs from what they assumed, or with neither. MAY COST CREDITS of the user: \`result\` names the price as refine_price; it is 0 while the price of the run covers it. Send that price as \`price\`, so that a changed one is refused. Starts a run of its own and answers at once with its run_id: call \`follow\` and then \`result\`. An identical call within ${joinedWithinMinutes} minutes joins the refinement of the first one and costs nothing more.`,
  scope: 'run',
  input: v.strictObject({
    run_id: v.pipe(IdText('opt'), v.description('The completed run')),
    ...RefineRequest.entries,
  }),
  output: Begun,
  async call({ run_id: runId, ...request }, { actions }) {
    const id = await actions.refine(runId, request);
    return { structured: begunRun(await actions.begun(id), actions) };
  },
});
