import { type ReactNode, useState } from 'react';
import { describeSeat, statusOf } from '#services/optimizations/reading/describe.ts';
import { sameFields, useRunPart } from '#web/live/live.ts';
import type { RunState } from '#web/live/run-state.ts';
import { isOut } from '#web/run/seat-words.ts';
import { Button } from '#web/ui/form/button.tsx';
import { type About, Composer } from './composer.tsx';

/** The chamber's button: from the synthesis on, once all models are complete. */
export function RequestRefinement({ runId }: { runId: string }): ReactNode {
  const [about, setAbout] = useState<About | null>(null);
  const { isShown, isEnabled } = useRunPart(runId, requestOf, sameFields);
  if (!isShown) return null;
  return (
    <>
      <Button disabled={!isEnabled} onClick={() => setAbout({ claimId: null })}>
        Request Refinement
      </Button>
      <Composer runId={runId} about={about} onClose={() => setAbout(null)} />
    </>
  );
}

function requestOf({ view }: RunState) {
  const status = statusOf(view);
  const isWritten = ['synthesis', 'settling', 'closed'].includes(view.stage);
  return {
    // From the start, so that nothing moves when the synthesis begins.
    isShown: status !== 'failed' && status !== 'cancelled',
    isEnabled:
      isWritten &&
      view.seats.every((seat) => {
        const seen = describeSeat(view, seat).status;
        return seen === 'completed' || isOut(seen);
      }),
  };
}
