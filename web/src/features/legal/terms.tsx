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
          The result is information for a decision that stays yours. Models make mistakes, also
          together: agreement is not correctness. It is not legal, tax, medical or investment
          advice.
        </p>
        <p>
          Where no key for a provider is set up, an installation may answer with simulated models.
          Each such seat and run is marked as simulated wherever it is shown.
        </p>
      </>
    ),
  },
  {
    id: 'account',
    title: 'Your account',
    body: (
      <p>
        You need an account with a working e-mail address, and you are responsible for what is done
        with it. Keep your password to yourself; tell us when you think somebody else knows it. You
        may stop using the service at any time.
      </p>
    ),
  },
  {
    id: 'credits',
    title: 'Credits',
    body: (
      <>
        <p>Runs are paid with credits. The price of a run is shown, and fixed, before it starts.</p>
        <p>
          <strong>Credits never expire.</strong> Every purchase, charge and return is a line of your
          credit history, which you can read in your account, and the lines add up to your credits.
        </p>
        <p>{refinementPriceWords()}</p>
        <p>
          Credits are bought in packages: some once, some as a plan that adds its credits every
          month and renews until you cancel it, which you can at any time. A cancelled plan lasts to
          the end of the month that is paid, and a change to another plan takes effect when it
          renews. One account has one plan.
        </p>
        <p>
          Prices are in US dollars. If this site adds tax, the payment page shows it and the total
          before you pay. Payments are taken by Stripe; your card number never reaches us. Where a
          site uses test payments, no money moves.
        </p>
        <p>
          When a payment is taken back by your bank, the credits it bought are taken back, too. What
          of them was used already is owed, and no run starts until it is settled. When a payment
          that we refunded is taken back by your bank as well, your credits are frozen until you
          have settled it with us.
        </p>
      </>
    ),
  },
  {
    id: 'failed-runs',
    title: 'Runs that fail or are cancelled',
    body: (
      <>
        <p>
          <strong>A failed run returns 50&nbsp;% of its price automatically</strong>, rounded in
          your favour. When no model answered, all of it returns. An answer that was cut off or
          could not be used is an answer, because it was written and paid for. You need not ask.
        </p>
        <p>
          A run that you cancel before the first model was called returns everything; after that,
          half. Once the recommendation is being written a run can no longer be cancelled.
        </p>
        <p>
          When a run ends without some of its models, or without a recommendation that passed its
          checks, a part of the price returns, up to half. The entry in your ledger names the cause.
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
        <strong>Unused credits are refundable within 30 days of their purchase</strong>, for the
        share of the price that they are of the package, while the account owes no credits. Credits
        that a run returned count as unused and keep the date of their purchase. Tax is returned in
        the same share. The money goes back the way it came. Giving back the credits of a plan’s
        current month ends that plan. Bonus credits cost nothing and are not paid out.
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
          model providers allow. Send nothing that you may not share with those providers, and no
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
        without limit for intent and gross negligence and where the law demands it; otherwise for
        foreseeable damage, up to what you paid in the twelve months before it.
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
          <strong>at least 30 days before</strong> they apply. Credits bought before a change keep
          the terms under which you bought them.
        </p>
        <p>Version 2026-11-20: the first one.</p>
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
