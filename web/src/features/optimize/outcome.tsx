import { Link } from '@tanstack/react-router';
import type { ReactNode, Ref } from 'react';
import type { Balance } from '#services/credits/contract.ts';
import { creditsInWords } from '#services/platform/numbers.ts';
import { ApiProblem } from '#web/api/api.ts';
import { problemButtons } from '#web/api/problem-buttons.tsx';
import { problemSentence } from '#web/api/problem-words.ts';
import { ErrorState } from '#web/ui/feedback/error-state.tsx';
import { Notice } from '#web/ui/feedback/notice.tsx';
import { Insufficient, refusalSentence } from './insufficient.tsx';
import type { Started } from './start.ts';

export type Phase =
  | { readonly kind: 'editing' }
  /** The balance from before the start, which is about to lose the price. */
  | { readonly kind: 'starting'; readonly balance: Balance | undefined }
  | Exclude<Started, { kind: 'started' }>
  | { readonly kind: 'failed'; readonly error: unknown };

/** Why a start did not happen, above the button; null while nothing stands against one. */
export function Outcome({
  phase,
  shortage,
  runId,
  focusRef,
}: {
  phase: Phase;
  shortage: Parameters<typeof Insufficient>[0]['shortage'] | null;
  runId: string | null;
  focusRef: Ref<HTMLDivElement>;
}): ReactNode {
  switch (phase.kind) {
    case 'insufficient': {
      const { debt, frozen } = shortage ?? { debt: 0, frozen: false };
      return (
        <Insufficient
          shortage={{ ...phase, debt, frozen }}
          announced={refusalSentence({ ...phase, frozen })}
          focusRef={focusRef}
        />
      );
    }
    case 'price-changed':
      return (
        <Notice
          tone="warn"
          title={changedTitle(phase)}
          announced={changedTitle(phase)}
          focusRef={focusRef}
        >
          {phase.outdated ? `It costs ${creditsInWords(phase.price)} now. ` : ''}
          No credits were reserved. Start again to accept the new price.
        </Notice>
      );
    case 'failed':
      return <Failure error={phase.error} runId={runId} focusRef={focusRef} />;
    case 'editing':
    case 'starting':
      return shortage && phase.kind === 'editing' ? <Insufficient shortage={shortage} /> : null;
  }
}

/** A start that was refused, or whose outcome is unknown. */
function Failure({
  error,
  runId,
  focusRef,
}: {
  error: unknown;
  runId: string | null;
  focusRef: Ref<HTMLDivElement>;
}): ReactNode {
  const isUnknown = error instanceof ApiProblem && (error.status === 0 || error.status >= 500);
  return (
    <div ref={focusRef} tabIndex={-1}>
      <ErrorState
        title="Failed to start optimization. Please try again."
        detail={
          error instanceof ApiProblem && error.code === 'models-unavailable'
            ? error.message
            : problemSentence(error)
        }
        safe={
          isUnknown
            ? "Your draft is saved. Trying again is safe: you'll be charged only once, even if the run has already started."
            : 'Your draft is saved. Nothing was charged.'
        }
        reference={error instanceof ApiProblem ? error.request_id : null}
        actions={
          runId === null ? (
            problemButtons(error)
          ) : (
            <>
              {problemButtons(error)}
              <Link
                to="/optimizations/$id"
                params={{ id: runId }}
                className="link inline-flex min-h-11 items-center"
              >
                See your waiting run
              </Link>
            </>
          )
        }
      />
    </div>
  );
}

/** A new price, or an estimate that no longer holds. */
function changedTitle({ price, outdated }: { price: number; outdated: boolean }): string {
  return outdated
    ? 'The models or the price of this strategy have changed'
    : `The price is now ${creditsInWords(price)}`;
}
