import type { StreamFacts } from '#services/live/hub.ts';
import type { Sealer } from '#services/platform/seal.ts';
import type { OptimizationSummary } from '#services/optimizations/contract/summary.ts';
import type { OptimizationEvent } from '#services/optimizations/run/events.ts';
import { occurredAt, openTexts, patchWithCase, runEventOf } from './read-run.ts';
import { erased } from './texts.ts';
import { fieldsOfView } from './view.ts';
import type { EventTexts } from './view.ts';
import type { RecordedEvent } from '#db/recorded-event.ts';
import { runIdOf } from '#services/optimizations/run/events.ts';

/** What an event of a run publishes to pages that show the run, and to lists. */
export async function runFacts(sealer: Sealer, recorded: RecordedEvent): Promise<StreamFacts> {
  const runId = runIdOf(recorded.streamId);
  const event = runEventOf(recorded);
  const texts = await openTexts(sealer, recorded, fieldsOfView(event));
  const at = occurredAt(recorded);
  const row = rowPatch(event, texts);
  return {
    type: event.type,
    at,
    general: row ? { entity: { kind: 'run_row', id: runId }, patch: row } : null,
    watched: {
      id: runId,
      fact: {
        entity: { kind: 'run', id: runId },
        patch: patchWithCase(runId, { event, texts, at }),
      },
    },
  };
}

type RowPatch = Partial<Pick<OptimizationSummary, 'title' | 'status' | 'agreement_score'>> & {
  hidden?: boolean;
};

/** The change in a run's row of the list; null for an event that changes nothing there. */
function rowPatch(event: OptimizationEvent, texts: EventTexts): RowPatch | null {
  switch (event.type) {
    case 'OptimizationCreated':
      return { status: 'pending' };
    case 'ProcessingStarted':
      return { status: 'processing' };
    case 'ScoresComputed':
      return { agreement_score: event.data.agreement.score };
    case 'OptimizationCompleted':
      return { status: 'completed' };
    case 'OptimizationFailed':
      return { status: 'failed' };
    case 'OptimizationCancelled':
      return { status: 'cancelled' };
    case 'OptimizationRenamed':
      return { title: texts['title'] ?? erased };
    case 'OptimizationHidden':
      return { hidden: true };
    case 'OptimizationRestored':
      return { hidden: false };
    case 'CallStarted':
    case 'CallLost':
    case 'CallSucceeded':
    case 'CallFailed':
    case 'CallCostRecorded':
    case 'SoftPassed':
    case 'OpinionsClosed':
    case 'ClaimsFixed':
    case 'ReviewsClosed':
    case 'DraftChecked':
    case 'SynthesisJudged':
    case 'RunConcluded':
    case 'OutcomeRecorded':
      return null;
  }
}
