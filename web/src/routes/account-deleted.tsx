import { createFileRoute, Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { paymentLimits } from '#services/payments/contract.ts';
import { contactEmail } from '#web/app/product.ts';

/** Anyone may open this page, so it reveals nothing about any account. */
export const Route = createFileRoute('/account-deleted')({
  component: AccountDeletedPage,
  staticData: { title: 'Account deleted' },
});

function AccountDeletedPage(): ReactNode {
  return (
    <div className="mx-auto w-full max-w-prose space-y-4 px-4 pt-8 lg:pt-16">
      <h1 className="text-4xl">Your account is being deleted</h1>
      <p>
        You're signed out everywhere. We're removing your name, address, questions, and answers. Any
        running optimization is canceled first.
      </p>
      <p>
        Your plan ends with the account. Unused credits bought in the last{' '}
        {paymentLimits.refundDays} days are refunded to your original payment method. Refunds come
        first: if the payment service doesn't respond, the rest waits. Your bank may take a few
        days. If the money doesn't arrive, contact <Operator /> with your payment receipt, since
        we'll no longer have your name. There's nothing else you need to do.
      </p>
      <p>
        <Link to="/" className="link inline-flex min-h-11 items-center">
          Go to the home page
        </Link>
      </p>
    </div>
  );
}

/** The contact address, else the form. */
function Operator(): ReactNode {
  if (contactEmail === undefined)
    return (
      <Link to="/contact" className="link">
        the operator of this site
      </Link>
    );
  return (
    <a href={`mailto:${contactEmail}`} className="link">
      {contactEmail}
    </a>
  );
}
