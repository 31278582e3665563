import { type ReactNode, useId, useState } from 'react';
import type { Strategy } from '#services/optimizations/contract/panel.ts';
import { durationWords } from '#services/optimizations/reading/words/duration.ts';
import { roleColours, roleWords } from '#web/run/words.ts';
import { Button } from '#web/ui/form/button.tsx';
import { classNames } from '#web/ui/class-names.ts';
import { Checkbox } from '#web/ui/form/field.tsx';
import { creditsInWords } from '#services/platform/numbers.ts';
import { Badge } from '#web/ui/feedback/status.tsx';
import type { StrategyId } from './question/fields.ts';
import { counted, modelsInWords, unavailableSentence, verdictSentence } from './strategy-words.ts';

type Props = {
  strategies: readonly Strategy[];
  chosen: StrategyId | null;
  onChoose: (id: StrategyId) => void;
  allowSimulated: boolean;
  onAllowSimulated: (allow: boolean) => void;
  /** Only local mode can simulate models. */
  canSimulate: boolean;
};

/** The strategies as cards or as a table. None is preselected. */
export function StrategyChoice(props: Props): ReactNode {
  const { strategies, allowSimulated, onAllowSimulated, canSimulate } = props;
  const [asTable, setAsTable] = useState(false);
  const isChanged = strategies.some((one) => !one.available || one.substitutions.length > 0);
  return (
    <fieldset className="min-w-0 space-y-4" data-part="strategies">
      <legend className="sr-only">Strategy</legend>
      <div className="flex flex-wrap items-center justify-between gap-4">
        <p className="max-w-prose text-ink-2">
          Each strategy has its own panel of models and its own price.
        </p>
        <Button aria-pressed={asTable} onClick={() => setAsTable(!asTable)}>
          Compare in a table
        </Button>
      </div>
      {canSimulate && (isChanged || allowSimulated) ? (
        <Checkbox
          label="Allow simulated models for seats without a real one"
          name="allow_simulated"
          checked={allowSimulated}
          onChange={(event) => onAllowSimulated(event.currentTarget.checked)}
          hint="Their answers come from a prepared case and are marked as simulated."
        />
      ) : null}
      {asTable ? <StrategyTable {...props} /> : <StrategyCards {...props} />}
    </fieldset>
  );
}

const roles = ['strategic', 'risk', 'implementation'] as const;

function StrategyCards({ strategies, chosen, onChoose }: Props): ReactNode {
  return (
    <ul className="grid grid-cols-1 gap-4 sm:grid-cols-2">
      {strategies.map((strategy) => (
        <li key={strategy.id}>
          <StrategyCard
            strategy={strategy}
            isChosen={strategy.id === chosen}
            onChoose={() => onChoose(strategy.id)}
          />
        </li>
      ))}
    </ul>
  );
}

function StrategyCard({
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
  const cautions = [strategy.independence[0] ?? null, verdictSentence(strategy)];
  return (
    <label
      className={classNames(
        'flex h-full flex-col gap-3 rounded-card border bg-surface p-4 wrap-anywhere has-focus-visible:outline-2 has-focus-visible:outline-offset-2 has-focus-visible:outline-accent',
        isChosen ? 'border-accent ring-1 ring-accent' : 'border-line-strong',
        usable ? 'cursor-pointer hover:bg-sunken' : 'cursor-not-allowed',
      )}
    >
      <span className="flex items-start gap-3">
        <input
          type="radio"
          name="strategy"
          value={strategy.id}
          checked={isChosen}
          disabled={!usable}
          onChange={onChoose}
          aria-labelledby={`${id}-name ${id}-price`}
          aria-describedby={`${id}-facts`}
          className="mt-0.5 size-5 shrink-0 accent-accent"
        />
        <span className="min-w-0 grow">
          <span className="flex flex-wrap items-center justify-between gap-x-3 gap-y-1">
            <span id={`${id}-name`} className="font-semibold">
              {strategy.name}
            </span>
            <span id={`${id}-price`} className="font-semibold">
              {creditsInWords(strategy.credits)}
            </span>
          </span>
          <Badges strategy={strategy} />
        </span>
      </span>
      <span id={`${id}-facts`} className="flex grow flex-col gap-3 text-sm text-ink-2">
        {usable ? null : (
          <span className="font-medium text-warn">{unavailableSentence(strategy)}</span>
        )}
        <span>
          {strategy.substitutions.length > 0 ? 'By design: ' : ''}
          {strategy.description}
        </span>
        <span className="space-y-1">
          {roles.map((role) => (
            <span key={role} className="block">
              <span className={`font-semibold ${roleColours[role]}`}>{roleWords[role]}</span>{' '}
              {counted(strategy.models[role])}
            </span>
          ))}
        </span>
        {strategy.substitutions.length > 0 && strategy.summary !== null ? (
          <span className="font-medium">{strategy.summary}.</span>
        ) : null}
        {cautions.map((caution) =>
          caution === null ? null : <span key={caution}>{caution}</span>,
        )}
        <span className="mt-auto">
          {[
            durationWords(strategy),
            modelsInWords(strategy),
            strategy.biasDetection ? 'bias detection' : 'no bias detection',
            strategy.parallelExecution ? 'in parallel' : 'one after the other',
          ].join(' · ')}
        </span>
      </span>
    </label>
  );
}

function Badges({ strategy }: { strategy: Strategy }): ReactNode {
  const isSimulated = strategy.available && strategy.simulated;
  if (!strategy.recommended && !isSimulated) return null;
  return (
    <span className="mt-1 flex flex-wrap gap-2">
      {strategy.recommended ? <Badge tone="ok">Recommended</Badge> : null}
      {isSimulated ? <Badge>Simulated</Badge> : null}
    </span>
  );
}

const columns = ['Strategy', 'Credits', 'Typical time', 'Models', 'Cost', 'Bias', 'Parallel'];

function StrategyTable({ strategies, chosen, onChoose }: Props): ReactNode {
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
                  <Badges strategy={strategy} />
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
