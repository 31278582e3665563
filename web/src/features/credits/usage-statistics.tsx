import type { ReactNode } from 'react';
import type { CreditAnalytics } from '#services/credits/contract.ts';
import { Card } from '#web/ui/card.tsx';
import { credits, creditsInWords } from '#services/platform/numbers.ts';
import { percent, percentParts } from '#web/ui/text/figures.ts';
import { Tile, TileRow } from '#web/ui/tile.tsx';
import { shareOf } from './consumption.ts';
import { MonthBars } from './month-bars.tsx';

/** Consumption by month, the average cost of a completed run, and their number. */
export function UsageStatistics({ analytics }: { analytics: CreditAnalytics }): ReactNode {
  const {
    average_cost_per_optimization: average,
    completed_optimizations: completed,
    consumption_by_month: months,
  } = analytics;
  return (
    <Card aria-labelledby="usage" className="space-y-6">
      <h2 id="usage" className="text-2xl">
        Usage Statistics
      </h2>
      <TileRow>
        <Tile
          label="Consumed this month"
          value={credits(analytics.monthly_consumption)}
          detail="credits, by UTC month"
        />
        <Tile
          label="Average per optimization"
          value={average === null ? '—' : average.toLocaleString()}
          detail={average === null ? 'No completed runs yet' : 'credits per completed run'}
        />
        <Tile label="Completed optimizations" value={credits(completed)} />
      </TileRow>
      {months.some((month) => month.credits !== 0) ? (
        <MonthBars months={months} />
      ) : (
        <p className="text-ink-2">
          Your last 12 months of usage will appear here after your first optimization.
        </p>
      )}
    </Card>
  );
}

/** The five most expensive models, each with its share of all credits used. */
export function TopModels({ analytics }: { analytics: CreditAnalytics }): ReactNode {
  const models = analytics.most_used_models;
  const share = (amount: number): number => shareOf(amount, analytics.total_consumed);
  const shown = percentParts(
    models.map(({ total_credits: amount }) => Math.max(0, amount)),
    analytics.total_consumed,
  );
  return (
    <Card aria-labelledby="models" className="space-y-4">
      <h2 id="models" className="text-2xl">
        Most Used AI Models
      </h2>
      {models.length === 0 ? (
        <p className="text-ink-2">The models you spend credits on will appear here.</p>
      ) : (
        <>
          <ol className="space-y-3">
            {models.map(({ model, total_credits: amount }, index) => (
              <li key={model} className="space-y-1">
                <p className="flex items-baseline justify-between gap-4">
                  <span className="min-w-0 truncate">{model}</span>
                  <span className="shrink-0">
                    <span className="font-medium">{credits(amount)}</span>
                    <span className="text-ink-2"> · {percent(shown[index] ?? null)}</span>
                  </span>
                </p>
                <svg width="100%" height="8" aria-hidden="true">
                  <rect width="100%" height="8" rx="4" className="fill-sunken" />
                  <rect
                    width={`${share(amount) * 100}%`}
                    height="8"
                    rx="4"
                    className="fill-accent"
                  />
                </svg>
              </li>
            ))}
          </ol>
          <p className="text-sm text-ink-3">
            Credits, and their share of all {creditsInWords(analytics.total_consumed)} used. The
            charge of a run is shared over its models by what they cost.
          </p>
        </>
      )}
    </Card>
  );
}
