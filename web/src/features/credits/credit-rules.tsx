import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { Card } from '#web/ui/card.tsx';

/** The rules of credits, with links to the full answers. */
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
          A failed run returns half of its price automatically, rounded in your favour, and all of
          it when no model answered. Cancelling before the first model call returns everything,
          later half.
        </Rule>
        <Rule term="Missing models">
          When a run ends without some of its models, their part of the price returns, up to half.
        </Rule>
        <Rule term="Order of use">
          Bonus credits are used first, then given ones, then purchased ones; the oldest first.
        </Rule>
      </dl>
      <h3 className="font-semibold">Questions and answers</h3>
      <ul>
        <Answer id="faq-credit">What is a credit?</Answer>
        <Answer id="faq-expiry">Do credits expire?</Answer>
        <Answer id="faq-failed-runs">What if a run fails?</Answer>
        <Answer id="faq-refunds">Can I have my money back?</Answer>
        <Answer id="faq-receipts">Where are my receipts?</Answer>
        <Answer id="faq-taxes">Are taxes included?</Answer>
      </ul>
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

function Answer({ id, children }: { id: string; children: string }): ReactNode {
  return (
    <li>
      <Link to="/credits/purchase" hash={id} className="link inline-flex min-h-11 items-center">
        {children}
      </Link>
    </li>
  );
}
