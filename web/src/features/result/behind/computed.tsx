import type { ReactNode } from 'react';
import type { BiasAnalysis } from '#services/optimizations/contract/result.ts';
import { indicatorsTitle, orderingWords } from '#services/optimizations/reading/words/result.ts';
import type { RunView } from '#services/optimizations/reading/view.ts';
import { Indicators } from '#web/run/indicators.tsx';
import { Order } from './order.tsx';

export const computedTitle = 'How this is computed';

/** How the answers are ordered, and what may have biased the reviewers. */
export function Computed({ bias, view }: { bias: BiasAnalysis; view: RunView }): ReactNode {
  return (
    <>
      <p>{orderingWords(bias)}</p>
      <Order view={view} />
      <h3 className="font-medium text-ink">{indicatorsTitle}</h3>
      <Indicators indicators={bias.indicators} />
    </>
  );
}
