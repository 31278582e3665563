import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { Card } from '#web/ui/card.tsx';
import { useSession } from '#web/features/identity/sessions/session.ts';

/** The frame of a page that an email leads to: one heading, one card, and links below. */
export function LandingPage({
  heading,
  children,
  below,
}: {
  heading: string;
  children: ReactNode;
  below?: ReactNode;
}): ReactNode {
  return (
    <div className="mx-auto w-full max-w-form space-y-6 px-4 pt-8 lg:pt-16">
      <h1 className="text-4xl">{heading}</h1>
      <Card className="space-y-5">{children}</Card>
      {below}
    </div>
  );
}

const waysIn = [
  { to: '/login', label: 'Login' },
  { to: '/signup', label: 'Sign up' },
] as const;
const waysBack = [
  { to: '/dashboard', label: 'Dashboard' },
  { to: '/profile', label: 'Account Settings' },
] as const;

/** Next steps for a user whose link did not help. */
export function NextSteps(): ReactNode {
  const isSignedIn = useSession().status === 'authenticated';
  return (
    <ul className="flex flex-wrap gap-x-6">
      {(isSignedIn ? waysBack : waysIn).map(({ to, label }) => (
        <li key={to}>
          <Link to={to} className={linkClasses}>
            {label}
          </Link>
        </li>
      ))}
      <li>
        <ContactLink />
      </li>
    </ul>
  );
}

export function ContactLink(): ReactNode {
  return (
    <Link to="/contact" className={linkClasses}>
      Contact us
    </Link>
  );
}

const linkClasses = 'link inline-flex min-h-11 items-center';
