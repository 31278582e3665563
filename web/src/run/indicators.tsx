import type { ReactNode } from 'react';
import type { BiasAnalysis } from '#services/optimizations/contract/result.ts';
import { indicatorWords } from '#services/optimizations/reading/words/result.ts';

/** What might have bent the order of the answers, each with what it cannot show. */
export function Indicators({ indicators }: { indicators: BiasAnalysis['indicators'] }): ReactNode {
  return (
    <dl className="space-y-3 text-sm">
      {indicators.map((indicator) => (
        <div key={indicator.id}>
          <dt className="font-medium">{indicatorWords(indicator)}</dt>
          <dd className="text-ink-2">{indicator.note}</dd>
        </div>
      ))}
    </dl>
  );
}
