import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useEffect, useState } from 'react';
import { optimizationLimits } from '#services/optimizations/contract/requests.ts';
import { durationWords } from '#services/optimizations/reading/words/duration.ts';
import { creditsInWords, modelCost } from '#services/platform/numbers.ts';
import { Skeleton } from '#web/ui/feedback/skeleton.tsx';
import { type Estimated, estimateQuery } from './queries.ts';
import { unavailableSentence } from './strategy-words.ts';

/** Milliseconds without typing before a changed text is estimated. */
const debounceMs = 500;

/** The model cost of a run, estimated once the user stops typing. */
export function Estimate({
  asked,
  credits,
}: Readonly<{ asked: Estimated; credits: number }>): ReactNode {
  const { text } = asked;
  const settled = useSettled(asked);
  const isAskable = settled.text !== '' && settled.text.length <= optimizationLimits.challenge;
  const estimate = useQuery({
    ...estimateQuery(settled),
    enabled: isAskable,
  });
  if (text === '') return <span className="text-ink-2">Shown once you've written a challenge</span>;
  const isChanging = !isSame(settled, asked);
  if (isAskable && (isChanging || estimate.isFetching)) {
    return (
      <span className="inline-block" aria-busy="true">
        <span className="sr-only">Estimating</span>
        <Skeleton className="h-5 w-32" />
      </span>
    );
  }
  if (!estimate.data)
    return <span>No estimate right now. The price is {creditsInWords(credits)}.</span>;
  if (!estimate.data.available) return <span>{unavailableSentence(estimate.data)}</span>;
  const { cost, simulated } = estimate.data;
  return (
    <span>
      {cost === null
        ? 'cost unknown'
        : `${modelCost(cost)} ${simulated ? 'if real' : 'for the models'}`}
      , {durationWords(estimate.data)}
    </span>
  );
}

/** The same object until the user has stopped typing. */
function useSettled(asked: Estimated): Estimated {
  const [settled, setSettled] = useState(asked);
  const text = JSON.stringify(asked);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(JSON.parse(text) as Estimated), debounceMs);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}

function isSame(one: Estimated, other: Estimated): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
