import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { Card } from '#web/ui/card.tsx';

/** The rules of credits, each as it is; the terms have them in full. */
export function CreditRules(): ReactNode {
  return (
    <Card aria-labelledby="rules" className="space-y-4">
      <h2 id="rules" className="text-2xl">
        How credits work
      </h2>
      <dl className="space-y-3">
        <Rule term="Price">
          Each strategy has its own price. It is shown before you start and stays fixed for the run.
        </Rule>
        <Rule term="Reserved">
          Starting a run reserves its price. Only when the run has ended is it charged, and what the
          run did not earn comes back.
        </Rule>
        <Rule term="Failed or cancelled">
          A failed run returns half of its price by itself, rounded in your favour, and all of it
          when no model answered. Cancelling before the first model call returns everything, later
          half.
        </Rule>
        <Rule term="Missing models">
          When a run ends without some of its models, their part of the price returns, up to half.
        </Rule>
        <Rule term="Expiry">Credits never expire.</Rule>
        <Rule term="Order of use">
          Bonus credits are used first, then given ones, then purchased ones; the oldest first.
        </Rule>
      </dl>
      <p className="flex flex-wrap gap-x-6">
        <Link to="/terms" hash="credits" className="link inline-flex min-h-11 items-center">
          Terms on credits
        </Link>
        <Link to="/terms" hash="refunds" className="link inline-flex min-h-11 items-center">
          Refunds
        </Link>
        <Link to="/" hash="pricing" className="link inline-flex min-h-11 items-center">
          Prices
        </Link>
      </p>
    </Card>
  );
}

function Rule({ term, children }: { term: string; children: ReactNode }): ReactNode {
  return (
    <div>
      <dt className="font-semibold">{term}</dt>
      <dd className="text-ink-2">{children}</dd>
    </div>
  );
}
