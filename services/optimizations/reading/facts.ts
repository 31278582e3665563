import type { StreamFacts } from '#services/live/hub.ts';
import type { Sealer } from '#services/platform/seal.ts';
import type { OptimizationSummary } from '#services/optimizations/contract.ts';
import type { OptimizationEvent } from '#services/optimizations/run/events.ts';
import { occurredAt, openTexts, runEventOf } from './read-run.ts';
import { erased } from './describe.ts';
import { fieldsOfView, patchOf } from './view.ts';
import type { EventTexts } from './view.ts';
import type { RecordedEvent } from '#db/recorded-event.ts';
import { runIdOf } from '#services/optimizations/run/events.ts';

/** What an event of a run tells those who watch the run, and those who see it in a list. */
export async function runFacts(sealer: Sealer, recorded: RecordedEvent): Promise<StreamFacts> {
  const runId = runIdOf(recorded.streamId);
  const event = runEventOf(recorded);
  const texts = await openTexts(sealer, recorded, fieldsOfView(event));
  const at = occurredAt(recorded);
  const row = rowPatch(event, texts, at);
  return {
    type: event.type,
    at,
    general: row ? { entity: { kind: 'run_row', id: runId }, patch: row } : null,
    watched: {
      id: runId,
      fact: { entity: { kind: 'run', id: runId }, patch: patchOf(runId, event, texts, at) },
    },
  };
}

/** `hidden` is told when it changes: true takes the row out of lists, false brings it back. */
type RowPatch = Partial<OptimizationSummary> & { hidden?: boolean };

function rowPatch(event: OptimizationEvent, texts: EventTexts, at: string): RowPatch | null {
  switch (event.type) {
    case 'OptimizationCreated': {
      const { seats, strategy, challengeType, price, createdAt } = event.data;
      const simulated = seats.filter((seat) => seat.simulated).length;
      return {
        title: texts['title'] ?? erased,
        description: (texts['challenge'] ?? erased).slice(0, 200),
        status: 'pending',
        strategy,
        challenge_type: challengeType,
        progress: 0,
        agreement_score: null,
        confidence_score: null,
        cost: null,
        cost_is_minimum: false,
        credits: { price, reserved: 0, charged: null, refunded: null, settlement: 'none' },
        simulated: simulated > 0,
        simulated_seats: simulated,
        created_at: createdAt,
        createdAt,
        ended_at: null,
      };
    }
    case 'ProcessingStarted':
      return { status: 'processing' };
    case 'ScoresComputed':
      return { agreement_score: event.data.agreement.score };
    case 'OptimizationCompleted':
      return ended('completed', event.data, at);
    case 'OptimizationFailed':
      return ended('failed', event.data, at);
    case 'OptimizationCancelled':
      return ended('cancelled', event.data, at);
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
      return null;
  }
}

/** The row's `credits` merge by key: the price stays. */
function ended(
  status: 'completed' | 'failed' | 'cancelled',
  {
    captured,
    refunded,
    creditsVersion,
  }: { captured: number; refunded: number; creditsVersion: number },
  at: string,
) {
  const credits = {
    reserved: 0,
    charged: captured - refunded,
    refunded,
    settlement: creditsVersion === 0 ? 'none' : 'settled',
  } as OptimizationSummary['credits'];
  return { status, progress: 100, ended_at: at, credits };
}
