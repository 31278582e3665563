import { createFileRoute, Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { paymentLimits } from '#services/payments/contract.ts';

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
        You are signed out everywhere. Your name, address, questions and answers are being removed;
        a run that was still running is cancelled first.
      </p>
      <p>
        A plan ends with the account, and credits that you bought in the last{' '}
        {paymentLimits.refundDays} days and did not use are refunded to where you paid from. The
        money goes first: while the payment service does not answer, the rest waits for it. Your
        bank may take some days. Should the money not arrive, ask the operator of this site, with
        the receipt of your payment: your name is no longer known here then. There is nothing else
        left for you to do.
      </p>
      <p>
        <Link to="/" className="link inline-flex min-h-11 items-center">
          To the home page
        </Link>
      </p>
    </div>
  );
}
