import type { ReactNode } from 'react';
import { type Answer, LastRead } from '#web/api/query-block.tsx';
import { Button } from '#web/ui/form/button.tsx';
import { Card } from '#web/ui/card.tsx';
import { Loading, Skeleton } from '#web/ui/feedback/skeleton.tsx';

export type Stat = { readonly value: ReactNode; readonly detail: ReactNode };

/** One figure from one query: `--` and a retry when it could not be read, never 0. */
export function StatCard<T>({
  label,
  answer,
  children,
}: {
  label: string;
  answer: Answer<T>;
  children: (data: T) => Stat;
}): ReactNode {
  const { data, error, isFetching } = answer;
  const retry = (): void => void answer.refetch();
  return (
    <Card className="min-w-0 space-y-1" aria-label={label}>
      <p className="text-sm text-ink-3">{label}</p>
      {data === undefined && error !== null ? (
        <>
          <p className="text-2xl font-semibold">--</p>
          <p className="text-sm text-ink-2">Couldn't load this.</p>
          <Button onClick={retry} busy={isFetching}>
            Try Again<span className="sr-only">: {label}</span>
          </Button>
        </>
      ) : (
        <Loading
          loading={data === undefined}
          label={`Loading ${label}`}
          skeleton={<Skeleton className="h-14" />}
        >
          {() => {
            if (data === undefined) return null;
            const { value, detail } = children(data);
            return (
              <>
                <p className="text-2xl font-semibold">{value}</p>
                <div className="text-sm text-ink-2">{detail}</div>
                {error === null ? null : <LastRead answer={answer} onRetry={retry} />}
              </>
            );
          }}
        </Loading>
      )}
    </Card>
  );
}
