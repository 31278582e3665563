import { type ReactNode, useEffect } from 'react';
import { ApiProblem } from '#web/api/api.ts';
import { problemSentence } from '#web/api/problem-words.ts';
import { announce } from '#web/ui/feedback/announcer.tsx';
import { ErrorState } from '#web/ui/feedback/error-state.tsx';
import { Status } from '#web/ui/feedback/status.tsx';

/** The outcome of a change: beside its button on success, in full on failure. */
export function Outcome({
  done,
  failure,
  title,
  safe = 'Nothing changed.',
}: {
  /** A sentence once it is done. */
  done: string | null;
  failure: unknown;
  /** What failed: "We couldn't save your name". */
  title: string;
  safe?: string;
}): ReactNode {
  useEffect(() => {
    if (done !== null) announce(done);
  }, [done]);
  if (failure) {
    return (
      <ErrorState
        title={title}
        detail={problemSentence(failure)}
        safe={isUnknownOutcome(failure) ? undefined : safe}
        reference={failure instanceof ApiProblem ? failure.request_id : null}
      />
    );
  }
  if (done === null) return null;
  return (
    <p>
      <Status tone="ok">{done}</Status>
    </p>
  );
}

/** Without a response it is unknown whether the change was made. */
function isUnknownOutcome(failure: unknown): boolean {
  return failure instanceof ApiProblem && failure.status === 0;
}
