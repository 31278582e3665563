import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useEffect, useState } from 'react';
import { optimizationLimits } from '#services/optimizations/contract.ts';
import { creditsInWords, modelCost } from '#web/ui/text/figures.ts';
import { Skeleton } from '#web/ui/feedback/skeleton.tsx';
import type { StrategyId } from './question/fields.ts';
import { estimateQuery } from './queries.ts';
import { typicalTime, unavailableSentence } from './strategy-words.ts';

/** Milliseconds without typing before a changed text is estimated. */
const debounceMs = 500;

type Asked = {
  readonly strategy: StrategyId;
  readonly text: string;
  readonly allowSimulated: boolean;
};

/** The model cost of a run, estimated once the user stops typing. */
export function Estimate({
  strategy,
  challenge,
  allowSimulated,
  credits,
}: Readonly<{
  strategy: StrategyId;
  challenge: string;
  allowSimulated: boolean;
  credits: number;
}>): ReactNode {
  const text = challenge.trim();
  const settled = useSettled({ strategy, text, allowSimulated });
  const isAskable = settled.text !== '' && settled.text.length <= optimizationLimits.challenge;
  const estimate = useQuery({
    ...estimateQuery(settled.strategy, settled.text, settled.allowSimulated),
    enabled: isAskable,
  });
  if (text === '') return <span className="text-ink-2">once there is a challenge</span>;
  const isChanging =
    settled.strategy !== strategy ||
    settled.text !== text ||
    settled.allowSimulated !== allowSimulated;
  if (isAskable && (isChanging || estimate.isFetching)) {
    return (
      <span className="inline-block" aria-busy="true">
        <span className="sr-only">Estimating</span>
        <Skeleton className="h-5 w-32" />
      </span>
    );
  }
  if (!estimate.data) return <span>Estimate unavailable, price is {creditsInWords(credits)}</span>;
  if (!estimate.data.available) return <span>{unavailableSentence(estimate.data)}</span>;
  const { cost, typical_seconds: seconds, simulated } = estimate.data;
  return (
    <span>
      {cost === null
        ? 'cost unknown'
        : `${modelCost(cost)} ${simulated ? 'if the models were real' : 'for the models'}`}
      , {typicalTime(seconds)}
    </span>
  );
}

function useSettled(asked: Asked): Asked {
  const { strategy, text, allowSimulated } = asked;
  const [settled, setSettled] = useState(asked);
  useEffect(() => {
    const timer = setTimeout(() => setSettled({ strategy, text, allowSimulated }), debounceMs);
    return () => clearTimeout(timer);
  }, [strategy, text, allowSimulated]);
  return settled;
}
