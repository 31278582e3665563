import { Link, useLocation } from '@tanstack/react-router';
import { ChevronDown } from 'lucide-react';
import type { ReactNode } from 'react';
import { refinementPriceWords } from '#services/optimizations/refinement/price.ts';
import { paymentLimits } from '#services/payments/contract.ts';

/** How paying works. */
export function PaymentNote({ isLocal }: { isLocal: boolean }): ReactNode {
  return (
    <section aria-labelledby="paying" className="max-w-prose space-y-3">
      <h2 id="paying" className="text-2xl">
        Paying
      </h2>
      <ul className="list-disc space-y-2 ps-5 text-ink-2">
        <li>You pay on the secure page of our payment provider. Card numbers never reach us.</li>
        <li>
          Credits arrive as soon as the payment is confirmed. With most cards, that's right away.
        </li>
        <li>
          The credits page links to your receipt. We also email you one if your address is confirmed
          and this site has a mail server.
        </li>
        {isLocal ? (
          <li>
            This server runs in local mode. Unless a payment provider key is set, checkout is a
            stand-in and no money moves.
          </li>
        ) : null}
      </ul>
    </section>
  );
}

/** The rules as questions with answers that open. */
export function Questions(): ReactNode {
  return (
    <section aria-labelledby="questions" className="max-w-prose space-y-4">
      <h2 id="questions" className="text-2xl">
        Questions
      </h2>
      <div className="divide-y divide-line border-y border-line">
        <Question id="faq-credit" asks="What is a credit?">
          Credits pay for runs. Each strategy has its own price, shown and fixed before you start.
        </Question>
        <Question id="faq-expiry" asks="Do credits expire?">
          No. Credits never expire, even after a plan ends.
        </Question>
        <Question id="faq-failed-runs" asks="What happens when a run fails?">
          Half its price is returned automatically, rounded in your favor, or all of it if no model
          answered.{' '}
          <Link to="/terms" hash="failed-runs" className="link">
            Read the full rule
          </Link>
        </Question>
        <Question id="faq-undecided" asks="Do I pay for a run that does not decide?">
          A result that says “No majority” or “cannot be decided” is a result and is charged; the
          included refinement is there to add the missing fact.
        </Question>
        <Question id="faq-refinements" asks="What does a refinement cost?">
          {refinementPriceWords()}
        </Question>
        <Question id="faq-refunds" asks="Can I get a refund?">
          Yes. You can refund a purchase's unused credits for {paymentLimits.refundDays} days, at
          their share of the price. The{' '}
          <Link to="/credits" className="link">
            credits page
          </Link>{' '}
          shows the amount for each purchase and lets you ask for it. Refunding a plan's current
          month ends the plan. Bonus credits were free, so they can't be refunded.
        </Question>
        <Question id="faq-plan" asks="How does a monthly plan work?">
          It adds credits with each monthly payment and renews until you cancel. Cancel anytime on
          the{' '}
          <Link to="/credits/plan" className="link">
            plan page
          </Link>
          , and it runs to the end of the month you've paid for. If you switch plans, the change
          takes effect at renewal.
        </Question>
        <Question id="faq-limit" asks="What does the monthly limit block?">
          Only runs paid with bonus credits. Runs paid with credits you bought are never blocked.
          Plans raise the limit.
        </Question>
        <Question id="faq-taxes" asks="Are taxes included?">
          Prices are in US dollars, without tax. If this site adds tax, the payment page shows it
          and the total before you pay.
        </Question>
        <Question id="faq-receipts" asks="Where are my receipts?">
          Every payment on the credits page links to its receipt. We also email you one if your
          address is confirmed and this site has a mail server. Invoices of a plan are also behind
          “Manage cards and invoices” on the plan page.
        </Question>
      </div>
    </section>
  );
}

function Question({
  id,
  asks,
  children,
}: {
  /** Other pages link to it. */
  id: string;
  asks: string;
  children: ReactNode;
}): ReactNode {
  const isAsked = useLocation({ select: ({ hash }) => hash === id });
  return (
    <details id={id} open={isAsked} className="group scroll-my-24 py-1">
      <summary className="flex min-h-11 cursor-pointer items-center justify-between gap-4 font-medium">
        {asks}
        <ChevronDown
          size={20}
          aria-hidden="true"
          className="shrink-0 text-ink-3 group-open:rotate-180"
        />
      </summary>
      <p className="pb-3 text-ink-2">{children}</p>
    </details>
  );
}
