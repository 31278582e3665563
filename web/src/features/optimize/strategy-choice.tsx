import { type ReactNode, useState } from 'react';
import { Button } from '#web/ui/form/button.tsx';
import { Checkbox } from '#web/ui/form/field.tsx';
import { StrategyDetails } from './strategy-details.tsx';
import { StrategyList, type StrategyListProps } from './strategy-list.tsx';
import { StrategyTable } from './strategy-table.tsx';

type Props = StrategyListProps & {
  allowSimulated: boolean;
  onAllowSimulated: (allow: boolean) => void;
  /** Only local mode can simulate models. */
  canSimulate: boolean;
};

/** The strategies as a list or as a table. None is preselected. */
export function StrategyChoice({
  strategies,
  chosen,
  onChoose,
  allowSimulated,
  onAllowSimulated,
  canSimulate,
}: Props): ReactNode {
  const [asTable, setAsTable] = useState(false);
  const isChanged = strategies.some((one) => !one.available || one.substitutions.length > 0);
  const list = { strategies, chosen, onChoose };
  const strategy = strategies.find(({ id }) => id === chosen);
  return (
    <fieldset className="min-w-0 space-y-3" data-part="strategies">
      <legend className="sr-only">Strategy</legend>
      {/* On wide screens the button stands beside the heading. */}
      <div className="flex flex-wrap items-end justify-between gap-x-4 gap-y-2 lg:-mt-7">
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
      {asTable ? (
        <>
          <StrategyTable {...list} />
          {strategy ? <StrategyDetails strategy={strategy} /> : null}
        </>
      ) : (
        <StrategyList {...list} />
      )}
    </fieldset>
  );
}
