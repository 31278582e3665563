import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { CreditAnalytics } from '#services/credits/contract.ts';
import { Card } from '#web/ui/card.tsx';
import { credits, figure } from '#services/platform/numbers.ts';
import { Tile, TileRow } from '#web/ui/tile.tsx';
import { shareOf } from './consumption.ts';
import { ConsumptionBars } from './consumption-bars.tsx';
import { partWords, shareOfCredits } from './models/model-words.ts';

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
          label="Used this month"
          value={credits(analytics.monthly_consumption)}
          detail="credits, by UTC month"
        />
        <Tile
          label="Average per optimization"
          value={average === null ? '—' : figure(average)}
          detail={average === null ? 'No completed runs yet' : 'credits per completed run'}
        />
        <Tile
          label="Completed optimizations"
          value={credits(completed)}
          detail="deleted ones included, refinements not"
        />
      </TileRow>
      {months.some((month) => month.credits !== 0) ? (
        <ConsumptionBars analytics={analytics} />
      ) : (
        <p className="text-ink-2">
          Your last 12 months of usage will appear here after your first optimization.
        </p>
      )}
    </Card>
  );
}

/** The five models with most credits, each with its share of the credits of all models. */
export function TopModels({ analytics }: { analytics: CreditAnalytics }): ReactNode {
  const models = analytics.most_used_models;
  const all = analytics.models.reduce((sum, { millicredits }) => sum + millicredits, 0);
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
            {models.map(({ model, name, millicredits }) => (
              <li key={model} className="space-y-1">
                <p className="flex items-baseline justify-between gap-4">
                  <span className="min-w-0 truncate">{name}</span>
                  <span className="shrink-0">
                    <span className="font-medium">{shareOfCredits(millicredits)}</span>
                    <span className="text-ink-2"> · {partWords(millicredits, all)}</span>
                  </span>
                </p>
                <svg width="100%" height="8" aria-hidden="true">
                  <rect width="100%" height="8" rx="4" className="fill-sunken" />
                  <rect
                    width={`${shareOf(millicredits, all) * 100}%`}
                    height="8"
                    rx="4"
                    className="fill-accent"
                  />
                </svg>
              </li>
            ))}
          </ol>
          <p className="text-sm text-ink-3">
            Credits per model, and their share of what all models of your runs used. Each run&apos;s
            charge is split across its models by cost.
          </p>
        </>
      )}
      <p>
        <Link to="/credits/models" className="link inline-flex min-h-11 items-center">
          Model costs
        </Link>
      </p>
    </Card>
  );
}
