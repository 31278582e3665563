import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { refinementPriceWords } from '#services/optimizations/refinement/price.ts';
import { productName } from '#web/app/product.ts';
import { Contact, Policy, type PolicySection } from './policy.tsx';

const sections: readonly PolicySection[] = [
  {
    id: 'service',
    title: 'The service',
    body: (
      <>
        <p>
          {productName} puts one business question to several AI models, lets them review each other
          and writes one recommendation from their answers. It shows where they agree and where they
          do not.
        </p>
        <p>
          The result is information; the decision stays yours. Models make mistakes, even together:
          agreement is not correctness. It is not legal, tax, medical or investment advice.
        </p>
        <p>
          A server without a provider's key may use simulated models. Every simulated model and run
          is marked as simulated wherever it appears.
        </p>
      </>
    ),
  },
  {
    id: 'account',
    title: 'Your account',
    body: (
      <p>
        You need an account with a working email address, and you are responsible for what is done
        with it. Keep your password private, and tell us if you think someone else knows it. You may
        stop using the service at any time.
      </p>
    ),
  },
  {
    id: 'credits',
    title: 'Credits',
    body: (
      <>
        <p>You pay for runs with credits. The price is shown and fixed before a run starts.</p>
        <p>
          <strong>Credits never expire.</strong> Every purchase, charge and return is a line of your
          credit history, which you can read in your account, and the lines add up to your credits.
        </p>
        <p>{refinementPriceWords()}</p>
        <p>
          You buy credits in packages: once, or as a plan that adds credits every month and renews
          until you cancel. You can cancel at any time. A canceled plan lasts until the end of the
          month you have paid for. A change to another plan takes effect at renewal. Each account
          can have one plan.
        </p>
        <p>
          Prices are in US dollars. If this site adds tax, the payment page shows it and the total
          before you pay. Payments are taken by Stripe; your card number never reaches us. Where a
          site uses test payments, no money moves.
        </p>
        <p>
          If your bank takes back a payment, we take back the credits it bought. You owe any you
          have already used, and no run can start until they are settled. If your bank also takes
          back a payment that we refunded, your credits are frozen until you settle it with us.
        </p>
      </>
    ),
  },
  {
    id: 'failed-runs',
    title: 'Runs that fail or are canceled',
    body: (
      <>
        <p>
          <strong>A failed run returns 50% of its price automatically</strong>, rounded in your
          favor. If no model answered, the full price is returned. An answer that was cut off or
          could not be used counts as an answer, because it was written and paid for. So does a
          model that declines to answer your question. You do not have to ask.
        </p>
        <p>
          If you cancel a run before the first model is called, everything is returned; after that,
          half. Once the recommendation is being written, a run cannot be canceled.
        </p>
        <p>
          If a run ends without some of its models, or without a recommendation that passed its
          checks, part of the price is returned, up to half. The entry in your ledger gives the
          reason.
        </p>
        <p>
          A result that says “No majority” or “cannot be decided” is a result and is charged; the
          included refinement is there to add the missing fact.
        </p>
      </>
    ),
  },
  {
    id: 'refunds',
    title: 'Refunds',
    body: (
      <p>
        <strong>Unused credits are refundable within 30 days of purchase</strong>, for their share
        of the package price, while the account owes no credits. Credits returned by a run count as
        unused and keep their purchase date. Tax is refunded in the same share. The money goes back
        to your original payment method. Refunding a plan's current month ends the plan. Bonus
        credits are free and cannot be refunded.
      </p>
    ),
  },
  {
    id: 'content',
    title: 'Your questions and the answers',
    body: (
      <>
        <p>
          What you write stays yours, and so do the results, as far as the law and the terms of the
          model providers allow. Do not send anything you may not share with those providers, or any
          passwords or other secrets.
        </p>
        <p>
          Do not use the service to harm people, to break the law, to attack it or others, or to get
          around its limits.
        </p>
      </>
    ),
  },
  {
    id: 'liability',
    title: 'Availability and liability',
    body: (
      <p>
        We run the service with care but cannot promise that it is always available. We are liable
        without limit for intent and gross negligence and where the law requires it. Otherwise we
        are liable for foreseeable damage, up to what you paid in the previous 12 months.
      </p>
    ),
  },
  {
    id: 'changes',
    title: 'Changes',
    body: (
      <>
        <p>
          The operator of this site announces changes to these terms{' '}
          <strong>at least 30 days before</strong> they apply, on every page and by email. Credits
          bought before a change keep the terms under which you bought them.
        </p>
        <p>Version 2026-11-20: first version.</p>
      </>
    ),
  },
  { id: 'contact', title: 'Contact', body: <Contact /> },
];

export function Terms(): ReactNode {
  return (
    <Policy
      title="Terms of Service"
      lead={
        <>
          What you can count on and what we ask of you. How we treat your data is in the{' '}
          <Link to="/privacy" className="link">
            Privacy Policy
          </Link>
          .
        </>
      }
      sections={sections}
    />
  );
}
