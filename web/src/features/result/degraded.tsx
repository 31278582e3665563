import type { ReactNode } from 'react';
import { type DegradedRun, degradedWords } from '#services/optimizations/reading/degraded.ts';
import { Notice } from '#web/ui/feedback/notice.tsx';

/** Above the decision of a run in which a model did not answer. */
export function Degraded({ run }: { run: DegradedRun }): ReactNode {
  const words = degradedWords(run);
  if (words === null) return null;
  const { title, sentences } = words;
  return (
    <Notice tone="warn" title={title}>
      {sentences.map((sentence) => (
        <p key={sentence}>{sentence}</p>
      ))}
    </Notice>
  );
}
