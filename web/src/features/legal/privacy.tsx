import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { contactLimits } from '#services/contact/contract.ts';
import { backupDays } from '#services/platform/contract.ts';
import { analyticsUrl } from '#web/app/product.ts';
import { cookies } from '#web/consent/register.ts';
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
          answered, the result, and what you say came of it. We store each run encrypted with its
          own key. We do not store the files. Times, scores, costs and the names of the models are
          not encrypted.
        </li>
        <li>
          <strong>Share links</strong>, only if you make one: its address, encrypted with the key of
          the run, what it shows, and when it was made, expires, or was revoked. Anyone with the
          address can read the result. We don't record who does.
        </li>
        <li>
          <strong>Your recipes</strong>: the questions you saved to start from, encrypted with the
          key of your account.
        </li>
        <li>
          <strong>Your onboarding</strong>: your answers, encrypted with the key of your account. If
          you got an onboarding bonus, we keep its amount, its date and a keyed code of your email
          address, also after you delete your account, so that it is given once.
        </li>
        <li>
          <strong>Shared statistics</strong>, only if you switch sharing on: counts and scores of
          your runs and how results turned out, without any text, are part of weekly sums over
          everyone who shares.
        </li>
        <li>
          <strong>Your credit ledger</strong>: credits granted, reserved, charged, and returned. It
          holds amounts and identifiers, never your text.
        </li>
        <li>
          <strong>Your purchases</strong>: what you bought, when, for how much, and whether it was
          paid, refunded or disputed. You enter your card number on our payment provider Stripe's
          page, and it never reaches us. Stripe receives your name, email address, the ID of your
          account and the package from us.
        </li>
        <li>
          <strong>Sign-ins</strong>: when a session began and was last used, in which browser, and
          from which network address. You can see them in your account settings. We delete a session
          at most 14 days after its last use.
        </li>
        <li>
          <strong>Your API keys</strong>, if you create any: a name, the first characters, a one-way
          hash of the key, what it may do and use, and when it was created, last used and revoked.
          Your credit ledger says which key started a run. You can see your keys in your account
          settings. We keep them until you delete your account.
        </li>
        <li>
          <strong>Messages to us</strong>: what you write in the contact form, its topic and your
          email address, encrypted. We delete a message after {contactLimits.keptDays} days.
        </li>
        <li>
          <strong>Links and emails</strong>: which kind we sent and when. We keep what an email
          says, encrypted, until it is sent or given up, the rest for 30 days, and links until a
          week after they expire.
        </li>
        <li>
          <strong>Answers to requests</strong>: for a day, so that a repeated request gets the same
          answer. Text in them is encrypted.
        </li>
        <li>
          <strong>A log of security events and technical logs</strong>: sign-ins, changes of
          password and address, refused attempts, errors. They identify accounts by an ID and
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
          A run sends your question, context, objectives, and constraints and the text of your files
          to the providers of the models that work on it, not only of its panel: other models
          compare the answers and write the recommendation. They also receive the answers of the
          panel. Your strategy shows the panel before you start.
        </p>
        <p>
          Before a run starts, what you wrote and the text of your files are sent to one provider,
          which the form names, to check whether it can be answered. We keep what that cost, and
          neither your text nor the reply.
        </p>
        <p>
          We do not send them your name, email address, or any account identifier. What you write is
          sent as is, so leave out anything they should not read.
        </p>
      </>
    ),
  },
  {
    id: 'cookies',
    title: 'Cookies and this device',
    body: (
      <>
        <p>We set these cookies, all of them necessary:</p>
        <ul>
          {Object.entries(cookies).map(([name, { what, lasts }]) => (
            <li key={name}>
              <code>{name}</code>: {what} {lasts}.
            </li>
          ))}
        </ul>
        <p>
          <Link to="/cookies">The page about cookies</Link> also lists what our pages keep in your
          browser. We keep functional data only if you agree. You can change your choice at any time
          with “Cookie Settings” at the foot of each page.
        </p>
        {analyticsUrl === undefined ? (
          <p>Our pages have no advertising, no analytics, and no third-party content.</p>
        ) : (
          <p>
            Our pages have no advertising. If you agree to analytics, a script from{' '}
            {new URL(analyticsUrl).host} measures visits; it is not loaded before.
          </p>
        )}
      </>
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
          Backups are kept for {backupDays} days at most. Until then a backup holds what was deleted
          after it was made; your text in it is encrypted as in the database. Each deletion of an
          account, and each destruction of a run’s key, is also noted outside the database, with its
          time and the ID of the account or run. When a backup is restored, those deletions are
          repeated before the site answers. A run that you deleted less than 30 days ago comes back
          with an older backup, and you can delete it again.
        </p>
        <p>
          Amounts, times, scores and the names of models stay, without your name, and so does the
          code of the address that was granted onboarding credits. So do the log of security events
          and the list of deletions, with the ID of the deleted account. Nothing removes them
          automatically.
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
          <strong>at least 30 days before</strong> they apply, on every page and by email.
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
