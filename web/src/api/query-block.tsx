import type { ReactNode } from 'react';
import { ApiProblem } from './api.ts';
import { problemSentence } from './problem-words.ts';
import { ErrorState } from '#web/ui/feedback/error-state.tsx';
import { RelativeTime } from '#web/ui/text/relative-time.tsx';
import { Loading, Skeleton } from '#web/ui/feedback/skeleton.tsx';

/** What a page reads of a query; every result of `useQuery` is one. */
export type Answer<T> = {
  readonly data: T | undefined;
  readonly error: unknown;
  readonly isFetching: boolean;
  readonly dataUpdatedAt: number;
  readonly refetch: () => Promise<unknown>;
};

/**
 * A part of a page that stands on one query. A failure of it leaves the rest of the page alone and is
 * tried again here; what was read before stays, with its age.
 */
export function QueryBlock<T>({
  answer,
  label,
  failure,
  safe,
  skeleton = <Skeleton className="h-40" />,
  children,
}: {
  answer: Answer<T>;
  /** "Loading transactions". */
  label: string;
  /** What failed, as a sentence: 'Failed to load credit information'. */
  failure: string;
  safe?: string;
  skeleton?: ReactNode;
  children: (data: T) => ReactNode;
}): ReactNode {
  const { data, error, isFetching } = answer;
  const retry = (): void => void answer.refetch();
  if (data === undefined && error !== null) {
    return (
      <ErrorState
        title={failure}
        detail={problemSentence(error)}
        safe={safe}
        reference={error instanceof ApiProblem ? error.request_id : null}
        onRetry={retry}
        busy={isFetching}
      />
    );
  }
  return (
    <Loading loading={data === undefined} label={label} skeleton={skeleton}>
      {() =>
        data === undefined ? null : (
          <div className="space-y-2">
            {children(data)}
            {error === null ? null : <LastRead answer={answer} onRetry={retry} />}
          </div>
        )
      }
    </Loading>
  );
}

/** There is no such thing for this person, and asking again changes nothing. */
export function isMissing({ data, error }: Pick<Answer<unknown>, 'data' | 'error'>): boolean {
  return data === undefined && error instanceof ApiProblem && error.status === 404;
}

/** The age of figures that could not be read again. */
export function LastRead({
  answer,
  onRetry,
}: {
  answer: Pick<Answer<unknown>, 'dataUpdatedAt' | 'isFetching'>;
  onRetry: () => void;
}): ReactNode {
  return (
    <p className="text-sm text-ink-2">
      Last read <RelativeTime at={new Date(answer.dataUpdatedAt).toISOString()} />.{' '}
      <button type="button" className="link min-h-6" onClick={onRetry} disabled={answer.isFetching}>
        Try Again
      </button>
    </p>
  );
}
