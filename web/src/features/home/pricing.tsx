import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { Card } from '#web/ui/card.tsx';
import { creditsInWords, price } from '#web/ui/figures.ts';
import { Notice } from '#web/ui/notice.tsx';
import { type Package, packages, runPrices } from './catalogue.ts';

/** Pages are built once for everybody, so their figures are written in one language. */
const locale = 'en-US';

export function Pricing(): ReactNode {
  return (
    <section aria-labelledby="pricing" className="space-y-8">
      <div className="max-w-prose space-y-3">
        <h2 id="pricing" className="text-4xl">
          Pricing
        </h2>
        <p className="text-ink-2">
          You pay for runs with credits. A run costs what its strategy costs:{' '}
          {runPrices
            .map(({ strategy, credits }) => `${strategy.toLowerCase()} ${credits}`)
            .join(', ')}{' '}
          credits. The price is fixed before the run starts.
        </p>
      </div>
      <Notice tone="info" title="Credits cannot be bought yet in this version">
        <p>
          These are the prices that will apply. An installation in local mode offers trial credits
          on its credits page, free of charge.
        </p>
      </Notice>
      <PackageGroup title="One-time" kind="one_time" />
      <PackageGroup title="Monthly, renews until you cancel" kind="monthly" />
      <p className="max-w-prose text-ink-2">
        Prices are in US dollars; taxes are added where they apply.{' '}
        <Link to="/terms" hash="credits" className="link">
          Credits never expire
        </Link>
        , a failed run{' '}
        <Link to="/terms" hash="failed-runs" className="link">
          returns half of its price by itself
        </Link>
        , and unused credits are{' '}
        <Link to="/terms" hash="refunds" className="link">
          refundable within 30 days
        </Link>
        .
      </p>
    </section>
  );
}

function PackageGroup({ title, kind }: { title: string; kind: Package['kind'] }): ReactNode {
  const offered = packages.filter((item) => item.kind === kind);
  return (
    <div className="space-y-4">
      <h3 className="text-lg font-semibold">{title}</h3>
      <ul className="grid grid-cols-1 gap-4 sm:grid-cols-2 lg:grid-cols-4">
        {offered.map((item) => (
          <li key={item.id}>
            <Card className="flex h-full flex-col gap-3">
              <h4 className="font-semibold">{item.name}</h4>
              <p>
                <span className="text-3xl font-semibold">{price(item.price_cents, locale)}</span>
                <span className="text-ink-3">{kind === 'monthly' ? ' a month' : ' once'}</span>
              </p>
              <p className="font-medium">
                {creditsInWords(item.credits, locale)}
                {kind === 'monthly' ? ' each month' : ''}
              </p>
              <p className="text-ink-2">{item.description}</p>
            </Card>
          </li>
        ))}
      </ul>
    </div>
  );
}
