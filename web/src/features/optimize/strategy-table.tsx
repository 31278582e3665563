import type { ReactNode } from 'react';
import { durationWords } from '#services/optimizations/reading/words/duration.ts';
import type { StrategyListProps } from './strategy-list.tsx';
import { StrategyBadges } from './strategy-list.tsx';
import { unavailableSentence } from './strategy-words.ts';

const columns = ['Strategy', 'Credits', 'Time', 'Models', 'Cost', 'Bias', 'Parallel'];

/** The strategies side by side, by the figures in which they differ. */
export function StrategyTable({ strategies, chosen, onChoose }: StrategyListProps): ReactNode {
  return (
    <section
      aria-label="Strategies compared"
      // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a scrolling region must be reachable by keyboard
      tabIndex={0}
      className="overflow-x-auto rounded-card border border-line bg-surface"
    >
      <table className="w-full border-collapse">
        <caption className="sr-only">Strategies compared</caption>
        <thead>
          <tr>
            {columns.map((title) => (
              <th key={title} scope="col" className="p-3 text-start text-sm font-medium text-ink-3">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {strategies.map((strategy) => {
            const usable = strategy.available;
            return (
              <tr key={strategy.id} className="border-t border-line">
                <th scope="row" className="p-3 text-start font-medium">
                  <label className="flex min-h-6 items-center gap-3">
                    <input
                      type="radio"
                      name="strategy"
                      value={strategy.id}
                      checked={strategy.id === chosen}
                      disabled={!usable}
                      onChange={() => onChoose(strategy.id)}
                      className="size-5 shrink-0 accent-accent"
                    />
                    <span>{strategy.name}</span>
                  </label>
                  <StrategyBadges strategy={strategy} />
                  {usable ? null : (
                    <span className="block text-sm font-normal text-warn">
                      {unavailableSentence(strategy)}
                    </span>
                  )}
                </th>
                <td className="p-3">{strategy.credits}</td>
                <td className="p-3 whitespace-nowrap">{durationWords(strategy)}</td>
                <td className="p-3">{strategy.seats.length}</td>
                <td className="p-3">{strategy.costTier} of 5</td>
                <td className="p-3">{strategy.biasDetection ? 'Yes' : 'No'}</td>
                <td className="p-3">{strategy.parallelExecution ? 'Yes' : 'No'}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </section>
  );
}
