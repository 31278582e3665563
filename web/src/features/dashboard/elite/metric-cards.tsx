import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { QueryBlock } from '#web/api/query-block.tsx';
import { statsQuery } from '#web/features/dashboard/queries.ts';
import { Card } from '#web/ui/card.tsx';
import { Skeleton } from '#web/ui/feedback/skeleton.tsx';
import { metricsOf } from './metrics.ts';

/** Figures of the user's own runs; each opens the arithmetic behind it. */
export function MetricCards(): ReactNode {
  const stats = useQuery(statsQuery);
  return (
    <QueryBlock
      answer={stats}
      label="Loading your figures"
      failure="We couldn't load your figures"
      skeleton={<Skeleton className="h-36" />}
    >
      {(data) => (
        <div className="grid grid-cols-[repeat(auto-fit,minmax(min(100%,10rem),1fr))] gap-4">
          {metricsOf(data).map(({ label, value, detail, formula }) => (
            <Card key={label} aria-label={label} className="min-w-0 space-y-1">
              <p className="text-sm text-ink-3">{label}</p>
              <p className="text-2xl font-semibold">{value}</p>
              <p className="text-sm text-ink-2">{detail}</p>
              <details className="text-sm text-ink-2">
                <summary className="inline-flex min-h-8 cursor-pointer items-center text-accent">
                  How it's computed<span className="sr-only">: {label}</span>
                </summary>
                <p className="pt-1">{formula}</p>
              </details>
            </Card>
          ))}
        </div>
      )}
    </QueryBlock>
  );
}
