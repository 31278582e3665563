import { applyPatch, beginView, patchOf } from '#services/optimizations/reading/view.ts';
import type { EventTexts, RunView } from '#services/optimizations/reading/view.ts';

export type RunEvent = Parameters<typeof patchOf>[1];

/**
 * The example that the site plays without a server, `web/content/example-run.json`: the events of one
 * run with their texts in clear, each with the milliseconds since the run was started. `standIn` is
 * the one part of the view that only a server knows. `npm run record-example` writes it.
 */
export type Recording = {
  recordedAt: string;
  standIn: RunView['standIn'];
  events: readonly { afterMs: number; event: RunEvent; texts: EventTexts }[];
};

/** The view after each event. */
export function viewsOf({ recordedAt, standIn, events }: Recording): RunView[] {
  const views: RunView[] = [];
  for (const [index, { afterMs, event, texts }] of events.entries()) {
    const at = new Date(Date.parse(recordedAt) + afterMs).toISOString();
    const patch = patchOf('opt_example', event, texts, at);
    const before = views.at(-1);
    views.push(before ? applyPatch(before, patch, index + 1) : beginView({ ...patch, standIn }));
  }
  return views;
}
