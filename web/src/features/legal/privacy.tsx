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
          <strong>Your account</strong>: name, email address, a picture if you add one, a one-way
          hash of your password, your plan and settings, the version of the terms you accepted and
          when. Without it there is no account.
        </li>
        <li>
          <strong>Your runs</strong>: what you wrote, the text of your files, what the models
          answered, and the result. We store these texts encrypted, with a key of its own for each
          run. We do not store the files. Times, scores, costs and the names of the models are not
          encrypted.
        </li>
        <li>
          <strong>Your recipes</strong>: the questions you saved to start from, encrypted with the
          key of your account.
        </li>
        <li>
          <strong>Your ledger</strong>: credits granted, reserved, charged and returned. It holds
          amounts and identifiers, and none of your text.
        </li>
        <li>
          <strong>Your purchases</strong>: what you bought, when, for how much, and whether it was
          paid, refunded or disputed. You enter your card number on the page of our payment
          provider, Stripe, and it never reaches us. Stripe receives your name, email address, the
          ID of your account and the package from us.
        </li>
        <li>
          <strong>Sign-ins</strong>: when a session began and was last used, in which browser, and
          from which network address. You see them in your account settings. We delete a session a
          week after it ends.
        </li>
        <li>
          <strong>Links and emails</strong>: which kind we sent and when. We keep what an email
          says, encrypted, until it is sent or given up, the rest for 30 days, and links until a
          week after they expire.
        </li>
        <li>
          <strong>A log of security events and technical logs</strong>: sign-ins, changes of
          password and address, refused attempts, errors. They identify accounts by an ID, and
          contain no email address and none of your text. They record only part of the network
          address an attempt came from. They keep the service safe. The operator of this site
          decides how long technical logs are kept.
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
          A run sends the question, context, objectives and constraints you wrote and the text of
          your files to the providers of the models that work on it, not only of its panel: other
          models compare the answers and write the recommendation. They also receive the answers of
          the panel. The strategy you choose names the panel before you start.
        </p>
        <p>
          Before a run starts, what you wrote and the text of your files are sent to one provider,
          which the form names, to check whether it can be answered. We keep what that cost, and
          neither your text nor the reply.
        </p>
        <p>
          We do not send them your name, email address or any identifier of your account. What you
          write is sent as it is, so leave out what they should not read.
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
      <>
        <p>
          Your account and your runs stay until you delete them. A run that you delete can be
          restored for 30 days; then we destroy the key to its text. If this site requires a
          confirmed address, an account that was never confirmed or used is deleted after 30 days.
        </p>
        <p>
          When you delete your account, we refund what is refundable, then remove your name, address
          and picture and destroy the keys that encrypt your text. What is left of the text in our
          database can no longer be read.
        </p>
        <p>
          This software makes no backups. The operator of this site may make some and decides how
          long they are kept; until then they hold what was deleted after they were made. When a
          backup is restored, the deletions that the operator kept a list of are repeated.
        </p>
        <p>
          Amounts stay, without your name, and so does the log of security events, with the ID of
          the deleted account. Nothing removes them automatically.
        </p>
      </>
    ),
  },
  {
    id: 'your-rights',
    title: 'Your rights',
    body: (
      <p>
        In your account settings you can download the data we keep about you, correct your name and
        address, and delete your account. A deletion starts at once; it ends when open runs and
        refunds have been dealt with. You can also ask us to do so, object to the use of your data,
        and complain to a data protection authority.
      </p>
    ),
  },
  {
    id: 'changes',
    title: 'Changes',
    body: (
      <>
        <p>
          The operator of this site announces changes to this policy{' '}
          <strong>at least 30 days before</strong> they apply.
        </p>
        <p>Version 2026-11-20: first version.</p>
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
