import { type ReactNode, useEffect, useRef, useState } from 'react';
import { Optimization } from '#services/optimizations/contract/run.ts';
import { refinementTerms } from '#services/optimizations/refinement/price.ts';
import type { RunView } from '#services/optimizations/reading/view.ts';
import { write } from '#web/api/api.ts';
import { reloadRun, sameFields, useRunPart } from '#web/live/live.ts';
import type { RunState } from '#web/live/run-state.ts';
import { problemAction, problemSentence } from '#web/api/problem-words.ts';
import { Button } from '#web/ui/form/button.tsx';
import { Dialog } from '#web/ui/dialog.tsx';
import { creditsInWords } from '#services/platform/numbers.ts';
import { Notice } from '#web/ui/feedback/notice.tsx';

/**
 * Cancels a run, after stating the cost. The page is left only when the credits are back in the
 * ledger; if the run cannot be stopped, the page says that it continues.
 */
export function Cancel({
  runId,
  onCancelled,
}: {
  runId: string;
  /** Credits returned to the account; 0 when none were held. */
  onCancelled: (returned: number) => void;
}): ReactNode {
  const run = useRunPart(runId, cancellingOf, sameFields);
  const [open, setOpen] = useState(false);
  const [sent, setSent] = useState(false);
  const [failure, setFailure] = useState<unknown>(null);
  const key = useRef(crypto.randomUUID());

  const cancelled = sent && run.returned !== null ? run.returned : null;
  useEffect(() => {
    if (cancelled !== null) onCancelled(cancelled);
  }, [cancelled, onCancelled]);

  const send = async (): Promise<void> => {
    setSent(true);
    setFailure(null);
    try {
      const path = `/optimizations/${encodeURIComponent(runId)}/cancel` as const;
      await write('POST', path, {}, Optimization, { key: key.current });
      await reloadRun(runId);
    } catch (error) {
      setSent(false);
      setFailure(error);
      key.current = crypto.randomUUID();
      // It went further than this page knew.
      if (problemAction(error) === 'reload') await reloadRun(runId);
    }
  };

  const canRepeat = failure === null || ['retry', 'wait'].includes(problemAction(failure));
  if (run.ended && !sent && (failure === null || !open)) return null;
  return (
    <div>
      {run.ended ? null : run.whyNot === null ? (
        <Button
          onClick={() => {
            setFailure(null);
            setOpen(true);
          }}
        >
          Cancel
        </Button>
      ) : (
        <p className="max-w-72 text-sm text-ink-2 sm:text-end">{run.whyNot}</p>
      )}
      <Dialog
        open={open}
        onClose={() => setOpen(false)}
        title="Cancel this run?"
        actions={
          <>
            <Button onClick={() => setOpen(false)}>
              {run.isDraft ? 'Keep it' : 'Keep it running'}
            </Button>
            {canRepeat ? (
              <Button
                tone="danger"
                busy={sent}
                disabled={run.whyNot !== null}
                onClick={() => void send()}
              >
                {sent ? 'Cancelling...' : 'Cancel run'}
              </Button>
            ) : null}
          </>
        }
      >
        <p>{run.whyNot ?? run.effect}</p>
        {failure === null ? null : (
          <Notice
            tone="bad"
            title="Failed to cancel optimization"
            announced="Failed to cancel optimization"
          >
            <p>{problemSentence(failure)}</p>
            {run.isDraft || run.ended ? null : <p>The run is still going.</p>}
          </Notice>
        )}
      </Dialog>
    </div>
  );
}

function cancellingOf({ view }: RunState) {
  return {
    isDraft: view.stage === 'draft',
    ended: view.stage === 'closed',
    whyNot: whyNot(view),
    effect: effectNow(view),
    returned:
      view.conclusion?.outcome === 'cancelled' && view.settled
        ? view.startedAt === null
          ? 0
          : view.price - view.settled.captured + view.settled.refunded
        : null,
  };
}

function whyNot(view: RunView): string | null {
  if (view.stage === 'synthesis')
    return "The recommendation is being written, so it's too late to cancel.";
  if (view.stage === 'settling') return 'The run is finishing.';
  return view.stage === 'closed' ? 'The run has ended.' : null;
}

function effectNow(view: RunView): string {
  if (view.stage === 'draft') return "The run hasn't started. You weren't charged.";
  if (view.price === 0)
    return `Nothing was charged. It counts as one of the ${refinementTerms.tries} tries of the included refinement.`;
  const half = Math.ceil(view.price / 2);
  return Object.values(view.calls).every(({ attempts }) => Object.keys(attempts).length === 0)
    ? `No model has been called yet. You'll get all ${creditsInWords(view.price)} back.`
    : `Models are working. You'll get ${half} of ${creditsInWords(view.price)} back.`;
}
