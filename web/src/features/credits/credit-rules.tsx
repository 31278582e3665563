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
          Each strategy has its own price. You see it before you start, and it doesn't change during
          the run.
        </Rule>
        <Rule term="Reserved">
          Starting a run reserves its price. You're charged when the run ends, and anything it
          didn't earn is returned.
        </Rule>
        <Rule term="Failed or canceled">
          A failed run returns half its price automatically, rounded in your favor, or all of it if
          no model answered. Cancel before the first model is called and you get everything back;
          after that, half.
        </Rule>
        <Rule term="Missing models">
          If some models drop out, their share of the price is returned, up to half. A model that
          declines to answer your question is paid for.
        </Rule>
        <Rule term="Order of use">
          We use bonus credits first, then free ones, then purchased ones, oldest first.
        </Rule>
      </dl>
      <h3 className="font-semibold">Questions and answers</h3>
      <ul>
        <Answer id="faq-credit">What is a credit?</Answer>
        <Answer id="faq-expiry">Do credits expire?</Answer>
        <Answer id="faq-failed-runs">What if a run fails?</Answer>
        <Answer id="faq-refunds">Can I get a refund?</Answer>
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
