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
          <strong>Your account</strong>: name, e-mail address, a one-way hash of your password, the
          version of the terms you accepted and when. Without it there is no account.
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
          <strong>Sign-ins and technical logs</strong>: when a session began, the address it came
          from, errors. They keep the service safe.
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
          be read by scripts, and ends with the browser or, with “Remember me”, after at most 30
          days.
        </li>
        <li>
          <strong>sf_theme</strong> remembers light or dark for a year, once you have chosen.
        </li>
        <li>
          <strong>Drafts</strong> of forms are kept on this device and removed when you sign out.
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
        Account and runs stay until you have them deleted. To delete, we destroy the keys that your
        text is encrypted with: it can then no longer be read by anyone, copies included. Amounts
        stay, without your name, as long as bookkeeping law demands.
      </p>
    ),
  },
  {
    id: 'your-rights',
    title: 'Your rights',
    body: (
      <p>
        You may ask what is stored about you and get a copy, have it corrected or deleted, object to
        its use, and complain to a data protection authority.
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
