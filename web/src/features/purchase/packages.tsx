import { type ReactNode, useState } from 'react';
import type { Package } from '#services/payments/contract.ts';
import { SelectField } from '#web/ui/form/field.tsx';
import { creditsInWords } from '#services/platform/numbers.ts';
import { Notice } from '#web/ui/feedback/notice.tsx';
import { PackageCard } from './package-card.tsx';
import { firstStrategy, type RunPrice } from './runs.ts';
import { usePurchase } from './use-purchase.ts';

type Props = {
  packages: readonly Package[];
  /** The runnable strategies with their prices; undefined while unknown. */
  strategies: readonly RunPrice[] | undefined;
  /** The package of the user's plan, if any. */
  planPackageId: string | null;
  /** The package chosen on an earlier page. */
  chosen: string | undefined;
  /** The package whose payment page was left without paying. */
  cancelled: string | undefined;
  /** The notice about the cancelled checkout was dismissed. */
  onSeen: () => void;
  /** The list turned out to be out of date. */
  onOutdated: () => void;
};

/** All packages, counted in runs of a strategy that the reader chooses. */
export function Packages({
  packages,
  strategies = [],
  planPackageId,
  chosen,
  cancelled,
  onSeen,
  onOutdated,
}: Props): ReactNode {
  const [strategyId, setStrategyId] = useState<string | null>(null);
  const strategy = strategies.find(({ id }) => id === strategyId) ?? firstStrategy(strategies);
  const purchase = usePurchase({
    onRefused: ({ next }) => {
      if (next === 'packages') onOutdated();
    },
  });
  const focused = cancelled ?? chosen;
  const cardOf = (item: Package): ReactNode => (
    <PackageCard
      key={item.id}
      item={item}
      strategy={strategy}
      strategies={strategies}
      chosen={item.id === focused}
      cancelled={item.id === cancelled}
      onSeen={onSeen}
      busy={purchase.busy === item.id}
      refusal={purchase.refusal?.packageId === item.id ? purchase.refusal : null}
      onBuy={() => purchase.buy(item.id)}
      plan={
        item.kind === 'one_time' || planPackageId === null
          ? 'none'
          : planPackageId === item.id
            ? 'this'
            : 'other'
      }
    />
  );
  const isKnown = packages.some(({ id }) => id === cancelled);
  return (
    <div className="space-y-8">
      {cancelled !== undefined && !isKnown ? (
        <Notice
          tone="info"
          title="Checkout canceled. You weren't charged."
          announced="Checkout canceled. You weren't charged."
          onDismiss={onSeen}
        />
      ) : null}
      <Strategy strategies={strategies} strategy={strategy} onChange={setStrategyId} />
      <Group
        id="one-time"
        title="One-time"
        about="Pay once, get your credits right away. Nothing renews."
        grid="sm:grid-cols-2 lg:grid-cols-4"
      >
        {packages.filter(({ kind }) => kind === 'one_time').map(cardOf)}
      </Group>
      <Group
        id="monthly"
        title="Monthly"
        about="Credits every month until you cancel. One plan at a time."
        grid="sm:grid-cols-2"
      >
        {packages.filter(({ kind }) => kind === 'monthly').map(cardOf)}
      </Group>
    </div>
  );
}

/** The price of a run, which every card uses. */
function Strategy({
  strategies,
  strategy,
  onChange,
}: {
  strategies: readonly RunPrice[];
  strategy: RunPrice | null;
  onChange: (id: string) => void;
}): ReactNode {
  if (strategy === null) return null;
  return (
    <div className="flex flex-wrap items-end justify-between gap-x-8 gap-y-4">
      <p className="max-w-prose text-lg">
        Each optimization uses {strategy.recommended ? '~' : ''}
        {creditsInWords(strategy.credits)} with {strategy.name}
        {strategy.recommended ? ', the recommended strategy' : ''}.
      </p>
      <div className="w-full sm:w-80">
        <SelectField
          label="Show runs for"
          name="strategy"
          value={strategy.id}
          onChange={(event) => onChange(event.currentTarget.value)}
        >
          {strategies.map(({ id, name, credits }) => (
            <option key={id} value={id}>
              {name}, {creditsInWords(credits)}
            </option>
          ))}
        </SelectField>
      </div>
    </div>
  );
}

function Group({
  id,
  title,
  about,
  grid,
  children,
}: {
  id: string;
  title: string;
  about: string;
  /** The columns from tablets on. */
  grid: string;
  children: ReactNode[];
}): ReactNode {
  if (children.length === 0) return null;
  return (
    <section aria-labelledby={id} className="space-y-4">
      <div>
        <h2 id={id} className="scroll-mt-6 text-2xl">
          {title}
        </h2>
        <p className="text-ink-2">{about}</p>
      </div>
      <ul className={`grid grid-cols-1 gap-4 ${grid}`}>{children}</ul>
    </section>
  );
}
