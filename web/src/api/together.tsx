import { type ReactNode, useEffect, useState } from 'react';
import { Loading } from '#web/ui/feedback/skeleton.tsx';
import type { Answer } from './query-block.tsx';

/** Milliseconds after which a page is drawn without the replies that are still missing. */
const patienceMs = 5_000;

/**
 * A page drawn at once when every query has its data or has failed, so that nothing moves as the
 * replies come in. A late reply then has the placeholder of its own part.
 */
export function Together({
  answers,
  label,
  skeleton,
  children,
}: {
  answers: readonly Pick<Answer<unknown>, 'data' | 'error'>[];
  label: string;
  skeleton: ReactNode;
  children: () => ReactNode;
}): ReactNode {
  const isComplete = answers.every(({ data, error }) => data !== undefined || error !== null);
  const [isDrawn, setDrawn] = useState(isComplete);
  // A query that starts again later hides nothing that was drawn.
  if (isComplete && !isDrawn) setDrawn(true);
  useEffect(() => {
    const timer = setTimeout(() => setDrawn(true), patienceMs);
    return () => clearTimeout(timer);
  }, []);
  return (
    <Loading loading={!isDrawn} label={label} skeleton={skeleton}>
      {children}
    </Loading>
  );
}
