import { type ReactNode, useId } from 'react';
import type { Strategy } from '#services/optimizations/contract/panel.ts';
import { aboutWords } from '#services/optimizations/reading/words/duration.ts';
import { creditsInWords } from '#services/platform/numbers.ts';
import { classNames } from '#web/ui/class-names.ts';
import { Badge } from '#web/ui/feedback/status.tsx';
import type { StrategyId } from './question/fields.ts';
import { StrategyDetails } from './strategy-details.tsx';
import { seatsInWords, unavailableSentence } from './strategy-words.ts';

export type StrategyListProps = {
  strategies: readonly Strategy[];
  chosen: StrategyId | null;
  onChoose: (id: StrategyId) => void;
};

/** One row for each strategy; the chosen one opens its details below. */
export function StrategyList({ strategies, chosen, onChoose }: StrategyListProps): ReactNode {
  return (
    <ul className="divide-y divide-line overflow-hidden rounded-card border border-line-strong bg-surface">
      {strategies.map((strategy) => {
        const isChosen = strategy.id === chosen;
        return (
          <li
            key={strategy.id}
            className={
              isChosen ? 'bg-sunken shadow-[inset_3px_0_0_var(--color-accent)]' : undefined
            }
          >
            <StrategyRow
              strategy={strategy}
              isChosen={isChosen}
              onChoose={() => onChoose(strategy.id)}
            />
            {isChosen ? (
              <div className="ps-11 pe-3 pt-1 pb-3">
                <StrategyDetails strategy={strategy} />
              </div>
            ) : null}
          </li>
        );
      })}
    </ul>
  );
}

function StrategyRow({
  strategy,
  isChosen,
  onChoose,
}: {
  strategy: Strategy;
  isChosen: boolean;
  onChoose: () => void;
}): ReactNode {
  const id = useId();
  const usable = strategy.available;
  return (
    <label
      className={classNames(
        'flex min-h-12 items-start gap-3 px-3 py-0.5 leading-5 max-sm:py-1.5 wrap-anywhere has-focus-visible:outline-2 has-focus-visible:-outline-offset-2 has-focus-visible:outline-accent',
        usable ? 'cursor-pointer' : 'cursor-not-allowed',
        usable && !isChosen && 'hover:bg-sunken',
      )}
    >
      <input
        type="radio"
        name="strategy"
        value={strategy.id}
        checked={isChosen}
        disabled={!usable}
        onChange={onChoose}
        aria-labelledby={`${id}-name ${id}-price`}
        aria-describedby={`${id}-facts ${id}-line`}
        className="mt-3 size-5 shrink-0 accent-accent outline-none"
      />
      <span className="min-w-0 grow">
        <span className="flex flex-wrap items-center gap-x-3">
          <span id={`${id}-name`} className="font-semibold">
            {strategy.name}
          </span>
          <StrategyBadges strategy={strategy} />
          <span
            id={`${id}-facts`}
            className="text-sm text-ink-2 max-sm:order-last max-sm:basis-full sm:ms-auto"
          >
            {seatsInWords(strategy)} · {aboutWords(strategy)}
          </span>
          <span id={`${id}-price`} className="text-end font-semibold max-sm:ms-auto sm:min-w-24">
            {creditsInWords(strategy.credits)}
          </span>
        </span>
        <span id={`${id}-line`} className="block text-sm leading-5 text-ink-2">
          {usable ? null : (
            <span className="font-medium text-warn">{unavailableSentence(strategy)} </span>
          )}
          {strategy.substitutions.length > 0 ? 'By design: ' : ''}
          {strategy.description}
        </span>
      </span>
    </label>
  );
}

export function StrategyBadges({ strategy }: { strategy: Strategy }): ReactNode {
  const isSimulated = strategy.available && strategy.simulated;
  return (
    <>
      {strategy.recommended ? <Badge tone="ok">Recommended</Badge> : null}
      {isSimulated ? <Badge>Simulated</Badge> : null}
    </>
  );
}
