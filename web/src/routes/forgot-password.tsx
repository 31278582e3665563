import { createFileRoute, Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { AskForLink } from '#web/features/identity/links/ask-for-link.tsx';
import { Card } from '#web/ui/card.tsx';

export const Route = createFileRoute('/forgot-password')({
  component: ForgotPasswordPage,
  staticData: {
    title: 'Forgot password',
    description: 'Get an email link to choose a new password.',
    prerender: true,
  },
});

function ForgotPasswordPage(): ReactNode {
  return (
    <div className="mx-auto w-full max-w-form space-y-6 px-4 pt-8 lg:pt-16">
      <h1 className="text-4xl">Forgot your password?</h1>
      <p className="text-ink-2">
        We'll email you a link. It works once, within 10 minutes, in this browser.
      </p>
      <Card>
        <AskForLink kind="reset" label="Send link" />
      </Card>
      <p className="text-ink-2">
        Remembered it?{' '}
        <Link to="/login" className="link">
          Login
        </Link>
      </p>
    </div>
  );
}
