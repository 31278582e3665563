import type { ReactNode } from 'react';
import { ApiProblem } from './api.ts';
import { problemButtons } from './problem-buttons.tsx';
import { problemSentence } from './problem-words.ts';
import { ErrorState } from '#web/ui/feedback/error-state.tsx';
import { RelativeTime } from '#web/ui/text/relative-time.tsx';
import { Loading, Skeleton } from '#web/ui/feedback/skeleton.tsx';

/** The part of a `useQuery` result that a page reads. */
export type Answer<T> = {
  readonly data: T | undefined;
  readonly error: unknown;
  readonly isFetching: boolean;
  readonly dataUpdatedAt: number;
  readonly refetch: () => Promise<unknown>;
};

/**
 * A part of a page that depends on one query. Its failure leaves the rest of the page alone and is
 * retried here. Data from an earlier read stays visible, with its age.
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
        actions={problemButtons(error, { onRetry: retry, busy: isFetching })}
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

/** A 404: retrying would change nothing. */
export function isMissing({ data, error }: Pick<Answer<unknown>, 'data' | 'error'>): boolean {
  return data === undefined && error instanceof ApiProblem && error.status === 404;
}

/** The age of data that could not be refreshed. */
export function LastRead({
  answer,
  onRetry,
}: {
  answer: Pick<Answer<unknown>, 'dataUpdatedAt' | 'isFetching'>;
  onRetry: () => void;
}): ReactNode {
  return (
    <p className="text-sm text-ink-2">
      Updated <RelativeTime at={new Date(answer.dataUpdatedAt).toISOString()} />.{' '}
      <button type="button" className="link min-h-6" onClick={onRetry} disabled={answer.isFetching}>
        Try Again
      </button>
    </p>
  );
}
