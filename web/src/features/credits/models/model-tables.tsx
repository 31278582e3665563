import type { ReactNode } from 'react';
import { creditLimits } from '#services/credits/contract.ts';
import type { CreditAnalytics, ModelCosts } from '#services/credits/contract.ts';
import { credits } from '#services/platform/numbers.ts';
import { Card } from '#web/ui/card.tsx';
import { EmptyState } from '#web/ui/feedback/empty-state.tsx';
import { Badge } from '#web/ui/feedback/status.tsx';
import { LinkButton } from '#web/ui/form/button.tsx';
import { DataTable } from '#web/ui/table-toggle.tsx';
import {
  costWords,
  listPrice,
  measuredWords,
  partWords,
  shareOfCredits,
  tokenWords,
} from './model-words.ts';

/** The models of the user's own runs: what they did, what that cost us, and their share of credits. */
export function OwnModels({ analytics: { models } }: { analytics: CreditAnalytics }): ReactNode {
  const all = models.reduce((sum, { millicredits }) => sum + millicredits, 0);
  return (
    <Card aria-labelledby="own-models" className="min-w-0 space-y-4">
      <h2 id="own-models" className="text-2xl">
        In your runs
      </h2>
      {models.length === 0 ? (
        <EmptyState
          action={
            <LinkButton to="/optimization" tone="primary">
              New Optimization
            </LinkButton>
          }
        >
          The models that answer you appear here, with their calls, tokens, and cost.
        </EmptyState>
      ) : (
        <>
          <DataTable
            caption="Models in your runs"
            rows={models}
            rowKey={({ model }) => model}
            columns={[
              { id: 'model', title: 'Model', cell: named },
              {
                id: 'credits',
                title: 'Credits',
                numeric: true,
                cell: ({ millicredits }) => shareOfCredits(millicredits),
              },
              {
                id: 'share',
                title: 'Share',
                numeric: true,
                cell: ({ millicredits }) => partWords(millicredits, all),
              },
              { id: 'calls', title: 'Calls', numeric: true, cell: ({ calls }) => credits(calls) },
              { id: 'tokens', title: 'Tokens', numeric: true, cell: (row) => tokenWords(row) },
              { id: 'cost', title: 'Model cost', numeric: true, cell: (row) => costWords(row) },
            ]}
          />
          <p className="max-w-prose text-sm text-ink-3">
            Each run&apos;s charge is split across the models that answered, by cost. Calls count
            answers and votes, failed ones included. Collecting claims and writing and checking the
            recommendation are part of every run, and not listed by model.
          </p>
        </>
      )}
    </Card>
  );
}

/** List prices, and what an answer costs over all users. */
export function PricedModels({ costs: { models } }: { costs: ModelCosts }): ReactNode {
  return (
    <Card aria-labelledby="prices" className="min-w-0 space-y-4">
      <h2 id="prices" className="text-2xl">
        What each model costs
      </h2>
      <DataTable
        caption="Prices of models"
        rows={models}
        rowKey={({ id }) => id}
        columns={[
          { id: 'model', title: 'Model', cell: ({ name, maker }) => named({ name, maker }) },
          {
            id: 'input',
            title: 'Input',
            numeric: true,
            cell: ({ input_price: dollars }) => listPrice(dollars),
          },
          {
            id: 'output',
            title: 'Output',
            numeric: true,
            cell: ({ output_price: dollars }) => listPrice(dollars),
          },
          { id: 'answer', title: 'One answer', numeric: true, cell: (row) => measuredWords(row) },
        ]}
      />
      <p className="max-w-prose text-sm text-ink-3">
        Input and output are list prices for a million tokens. One answer is the average over all
        users in the last {creditLimits.measuredDays} days, shown from{' '}
        {creditLimits.measuredAnswers} answers on. You pay credits, at the price of your strategy,
        whatever its models cost.
      </p>
    </Card>
  );
}

function named({
  name,
  maker,
  simulated: isSimulated = false,
}: {
  name: string;
  maker: string | null;
  simulated?: boolean;
}): ReactNode {
  return (
    <>
      <span className="font-medium">{name}</span>
      {isSimulated ? (
        <>
          {' '}
          <Badge>Simulated</Badge>
        </>
      ) : null}
      <span className="block text-sm text-ink-2">{maker ?? 'Maker not listed'}</span>
    </>
  );
}
