import { createFileRoute, Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import * as v from 'valibot';
import { LoginForm } from '#web/features/identity/sessions/login-form.tsx';
import { useReturn } from '#web/features/identity/sessions/use-return.ts';
import { isLocalMode } from '#web/app/local-mode.ts';
import { Card } from '#web/ui/card.tsx';
import { Notice } from '#web/ui/feedback/notice.tsx';
import { useHydrated } from '#web/ui/hydrated.ts';

export const Route = createFileRoute('/login')({
  component: LoginPage,
  validateSearch: v.object({ redirect: v.optional(v.fallback(v.string(), '')) }),
  staticData: {
    title: 'Login',
    description: 'Sign in to ask a question, watch a run, or read your credits.',
    prerender: true,
  },
});

function LoginPage(): ReactNode {
  const { redirect } = Route.useSearch();
  const hydrated = useHydrated();
  useReturn(redirect);
  return (
    <div className="mx-auto w-full max-w-form space-y-6 px-4 pt-8 lg:pt-16">
      <h1 className="text-4xl">Login</h1>
      <Card>
        <LoginForm returnTo={(hydrated && redirect) || ''} />
      </Card>
      <p className="text-ink-2">
        No account yet?{' '}
        <Link to="/signup" search={hydrated && redirect ? { redirect } : {}} className="link">
          Sign up
        </Link>
      </p>
      <LocalModeHint />
    </div>
  );
}

function LocalModeHint(): ReactNode {
  const hydrated = useHydrated();
  if (!hydrated || !isLocalMode()) return null;
  return (
    <Notice tone="info" title="Local mode">
      The e-mail and password of the demo account stand in the terminal where the server was
      started.
    </Notice>
  );
}
