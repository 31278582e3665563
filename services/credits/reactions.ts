import type { JobSpec } from '#services/platform/command.ts';
import type { CreditEvent } from './account.ts';

/**
 * Event to jobs, enqueued in the transaction that appends the event and never replayed. A
 * reservation starts its run from here, whatever becomes of the request that made it.
 */
export function reactions(event: CreditEvent): JobSpec[] {
  switch (event.type) {
    case 'CreditsReserved':
      return [startJob(event.data.runId)];
    case 'CreditsGranted':
    case 'CreditsCaptured':
    case 'CreditsReturned':
    case 'CreditsReleased':
    case 'LotRevoked':
    case 'RevocationDeferred':
    case 'DebtIncurred':
    case 'DebtSettled':
      return [];
  }
}

function startJob(runId: string): JobSpec {
  return { task: 'start-run', payload: { runId }, key: `${runId}:start` };
}
