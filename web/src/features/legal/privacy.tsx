import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { Contact, Policy, type PolicySection } from './policy.tsx';

const sections: readonly PolicySection[] = [
  {
    id: 'what-we-keep',
    title: 'What we keep, and why',
    body: (
      <ul>
        <li>
          <strong>Your account</strong>: name, e-mail address, a picture if you add one, a one-way
          hash of your password, the version of the terms you accepted and when. Without it there is
          no account.
        </li>
        <li>
          <strong>Your runs</strong>: what you wrote, what the models answered, and the result. They
          are stored encrypted, with a key of their own for each run.
        </li>
        <li>
          <strong>Your ledger</strong>: credits granted, reserved, charged and returned. It holds
          amounts and identifiers, and none of your text.
        </li>
        <li>
          <strong>Your purchases</strong>: what you bought, when, for how much, and whether it was
          paid or given back. You type your card number on the page of our payment provider, Stripe,
          and it never reaches us; Stripe gets your e-mail address and the package from us.
        </li>
        <li>
          <strong>Sign-ins</strong>: when a session began, with which browser, and the address it
          came from. You see them in your account settings; a week after its end a session is
          forgotten.
        </li>
        <li>
          <strong>Links and mails</strong>: which kind was sent and when. What a mail says is kept
          until it is sent, the rest for 30 days, and links until a week after they have expired.
        </li>
        <li>
          <strong>A log of security events and technical logs</strong>: sign-ins, changes of
          password and address, refused tries, errors. They name accounts by a number, hold no mail
          address and none of your text, and of the network a try came from only a part. They keep
          the service safe.
        </li>
      </ul>
    ),
  },
  {
    id: 'what-models-receive',
    title: 'What the model providers receive',
    body: (
      <>
        <p>
          A run sends the question, context, objectives and constraints you wrote to the providers
          of the models on its panel. The strategy you choose names them before you start.
        </p>
        <p>
          They do not receive your name, e-mail address or any identifier of your account from us.
          What you write yourself is sent as it stands, so leave out what they should not read.
        </p>
      </>
    ),
  },
  {
    id: 'cookies',
    title: 'Cookies and this device',
    body: (
      <ul>
        <li>
          <strong>A session cookie</strong> keeps you signed in. It is set when you sign in, cannot
          be read by scripts, and ends with the browser, after a day at the latest; with “Remember
          me” after a week without use, and after 30 days at the latest.
        </li>
        <li>
          <strong>A cookie for links in mails</strong> holds a random number for a day after you
          have signed up or asked for a link, so that the link signs you in here and nowhere else.
        </li>
        <li>
          <strong>A cookie for your account on this device</strong> is set when you sign in and kept
          for 180 days, also after you sign out. It lets you sign in here while somebody else
          guesses your password. It is worthless once the password has been changed elsewhere.
        </li>
        <li>
          <strong>sf_theme</strong> remembers light or dark for a year, once you have chosen.
        </li>
        <li>
          <strong>Drafts</strong> of forms are kept on this device and removed when you sign out. An
          address that you have yet to confirm is kept until you close the tab, and so is which
          purchase this page has already thanked you for.
        </li>
        <li>There is no advertising, no analytics and nothing from third parties on our pages.</li>
      </ul>
    ),
  },
  {
    id: 'how-long',
    title: 'How long',
    body: (
      <p>
        Account and runs stay until you delete them; an account whose address was never confirmed is
        deleted after 30 days. Your name, address and picture are then removed, and the keys are
        destroyed that your text is encrypted with: it can no longer be read by anyone. Backups are
        kept for at most 35 days, and when one is used, deletions are repeated on it. Amounts stay,
        without your name, as long as bookkeeping law demands, and so does the log of security
        events, with the number of an account that is no more.
      </p>
    ),
  },
  {
    id: 'your-rights',
    title: 'Your rights',
    body: (
      <p>
        In your account settings you download everything that is stored about you, correct your name
        and address, and delete the account, each by yourself and at once. You may also ask us for
        it, object to the use of your data, and complain to a data protection authority.
      </p>
    ),
  },
  {
    id: 'changes',
    title: 'Changes',
    body: (
      <>
        <p>
          Changes to this policy are announced <strong>at least 30 days before</strong> they apply.
        </p>
        <p>Version 2026-11-20: the first one.</p>
      </>
    ),
  },
  { id: 'contact', title: 'Contact', body: <Contact /> },
];

export function Privacy(): ReactNode {
  return (
    <Policy
      title="Privacy Policy"
      lead={
        <>
          Which data we keep, who else sees it, and what you can do about it. The rules of the
          service are in the{' '}
          <Link to="/terms" className="link">
            Terms of Service
          </Link>
          .
        </>
      }
      sections={sections}
    />
  );
}
