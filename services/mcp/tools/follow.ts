import * as v from 'valibot';
import { mcpLimits } from '#services/mcp/contract.ts';
import { defineTool } from '#services/mcp/tool.ts';
import type { ToolCall } from '#services/mcp/tool.ts';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import { isOpenStatus, RunId, RunStatus } from '#services/optimizations/contract/summary.ts';
import { IdText } from '#services/platform/contract.ts';

const { followSeconds, followSecondsMost } = mcpLimits;
const secondsWords = `Enter a whole number of seconds from 0 to ${followSecondsMost}.`;

export const follow = defineTool({
  name: 'follow',
  title: 'Wait for a run',
  description: () =>
    `Waits until a run has ended, at most \`seconds\` (${followSeconds} unless given), and says how far it is. Costs nothing. Sends progress notifications to clients that ask for them. Call it again while \`ended\` is false; a call that is cut off never stops the run.`,
  scope: 'read',
  input: v.strictObject({
    run_id: v.pipe(IdText('opt'), v.description('The run, from `ask` or `refine`')),
    seconds: v.pipe(
      v.optional(
        v.pipe(
          v.number(secondsWords),
          v.integer(secondsWords),
          v.minValue(0, secondsWords),
          v.maxValue(followSecondsMost, secondsWords),
        ),
        followSeconds,
      ),
      v.description("How long to wait; keep it below your client's own time limit for a call"),
    ),
  }),
  output: v.object({
    run_id: RunId,
    status: RunStatus,
    progress: v.pipe(v.number(), v.description('0–100; 100 only at the end')),
    step: v.pipe(v.string(), v.description('What happens now, in words')),
    seconds_left: v.pipe(v.nullable(v.number()), v.description('An estimate; null when unknown')),
    ended: v.boolean(),
    next: v.pipe(v.string(), v.description('What to do now')),
  }),
  async call({ run_id: runId, seconds }, call) {
    const { id, status, progress, evolution } = await waited(runId, seconds, call);
    const ended = !isOpenStatus(status);
    return {
      structured: {
        run_id: id,
        status,
        progress,
        step: evolution.step_details,
        seconds_left: evolution.estimated_completion,
        ended,
        next: ended ? `Call result with run_id ${id}.` : `Call follow with run_id ${id} again.`,
      },
    };
  },
});

/** The run as it is at its end, or when the time is up. */
async function waited(
  runId: string,
  seconds: number,
  { actions, signal, progress }: ToolCall,
): Promise<Optimization> {
  const timeUp = new AbortController();
  const timer = setTimeout(() => timeUp.abort(), seconds * 1000);
  let last: Optimization | null = null;
  try {
    for await (const run of actions.follow(runId, AbortSignal.any([signal, timeUp.signal]))) {
      last = run;
      // The answer reports the end: clients take no report once they have it.
      if (isOpenStatus(run.status)) await progress(run.progress, run.evolution.step_details);
    }
  } finally {
    clearTimeout(timer);
  }
  // Nothing was read in time, or it was deleted meanwhile.
  return last ?? actions.read(runId);
}
