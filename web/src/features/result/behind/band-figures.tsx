import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import {
  bandWords,
  figuresNote,
  figuresTitle,
} from '#services/optimizations/reading/words/turned-out.ts';
import { QueryBlock } from '#web/api/query-block.tsx';
import { outcomeFiguresQuery } from '#web/run/outcomes/calls.ts';
import { Skeleton } from '#web/ui/feedback/skeleton.tsx';
import { classNames } from '#web/ui/class-names.ts';

/** How results of each band turned out, as their owners said; `band` is that of this result. */
export function BandFigures({ band }: { band: string }): ReactNode {
  const answer = useQuery(outcomeFiguresQuery);
  return (
    <>
      <h3 className="font-medium text-ink">{figuresTitle}</h3>
      <QueryBlock
        answer={answer}
        label="Loading outcomes"
        failure="We couldn't load the outcomes"
        skeleton={<Skeleton className="h-40" />}
      >
        {({ bands, least }) => (
          <dl className="divide-y divide-line border-y border-line">
            {bands
              .map((one) => bandWords(one, least))
              .map(({ band: id, name, words }) => (
                <div key={id} className="flex flex-wrap justify-between gap-x-4 py-2">
                  <dt className={classNames('font-medium', id === band && 'text-ink')}>
                    {name}
                    {id === band ? ' (this result)' : ''}
                  </dt>
                  <dd>{words}</dd>
                </div>
              ))}
          </dl>
        )}
      </QueryBlock>
      <p>{figuresNote}</p>
    </>
  );
}
