import type { ReactNode } from 'react';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import { degradedWords } from '#services/optimizations/reading/degraded.ts';
import { Notice } from '#web/ui/feedback/notice.tsx';

/** Above the decision of a run in which a model did not answer. */
export function Degraded({
  run: { degraded, credits },
}: {
  run: Pick<Optimization, 'degraded' | 'credits'>;
}): ReactNode {
  if (degraded === null) return null;
  const { title, sentences } = degradedWords(degraded, credits);
  return (
    <Notice tone="warn" title={title}>
      {sentences.map((sentence) => (
        <p key={sentence}>{sentence}</p>
      ))}
    </Notice>
  );
}
