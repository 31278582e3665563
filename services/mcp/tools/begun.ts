import * as v from 'valibot';
import type { McpActions } from '#services/mcp/actions.ts';
import { RunId, RunStatus } from '#services/optimizations/contract/summary.ts';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import { simulatedNotice, simulatedPartOf } from '#services/optimizations/reading/simulated.ts';

/** What `ask` and `refine` answer with. */
export const Begun = v.object({
  run_id: RunId,
  status: RunStatus,
  price: v.pipe(v.number(), v.description('Credits reserved for it; no more is charged')),
  typical_seconds: v.pipe(v.number(), v.description('What such a run usually takes')),
  simulated: v.pipe(v.boolean(), v.description('Whether a model of the panel is simulated')),
  simulated_notice: v.pipe(
    v.nullable(v.string()),
    v.description('Show it to the user with everything from this run; null when all are real'),
  ),
  page: v.pipe(v.string(), v.description("The run's page, for its owner")),
  next: v.pipe(v.string(), v.description('What to do now')),
});

export function begunRun(run: Optimization, actions: McpActions): v.InferOutput<typeof Begun> {
  const { id, status, credits, council } = run;
  return {
    run_id: id,
    status,
    price: credits.price,
    typical_seconds: council.schedule.typicalSeconds,
    simulated: run.simulated,
    simulated_notice: simulatedNotice(simulatedPartOf(council)),
    page: actions.pageOf(id),
    next: `Call follow with run_id ${id} until ended is true, then call result.`,
  };
}
