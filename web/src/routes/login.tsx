import { createFileRoute, Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import * as v from 'valibot';
import { example } from '#web/features/example/example.tsx';
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
    description: 'Sign in to ask a question, watch a run, or check your credits.',
    prerender: true,
  },
});

function LoginPage(): ReactNode {
  const { redirect } = Route.useSearch();
  const hydrated = useHydrated();
  useReturn(redirect);
  return (
    <div className="mx-auto grid w-full max-w-page grid-cols-1 items-start gap-12 px-4 pt-8 sm:px-6 lg:grid-cols-2 lg:pt-16">
      <div className="mx-auto w-full max-w-form space-y-6">
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
      <div className="min-w-0 lg:pt-16">{example}</div>
    </div>
  );
}

function LocalModeHint(): ReactNode {
  const hydrated = useHydrated();
  if (!hydrated || !isLocalMode()) return null;
  return (
    <Notice tone="info" title="Local mode">
      The demo account's email and password are in the terminal where you started the server.
    </Notice>
  );
}
