import { QueryClientProvider } from '@tanstack/react-query';
import { createFileRoute, Outlet, redirect } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { knownSession } from '#web/features/identity/sessions/session.ts';
import { useLeaveWhenSignedOut } from '#web/features/identity/sessions/use-return.ts';
import { PagePending } from '#web/app/page-pending.tsx';
import { queryClient } from '#web/api/query-client.ts';

export const Route = createFileRoute('/_signed-in')({
  beforeLoad: async ({ location }) => {
    const session = await knownSession();
    if (session.status === 'unreachable') throw session.problem;
    if (session.status === 'anonymous') {
      redirect({
        to: '/login',
        search: { redirect: location.href },
        replace: true,
        throw: true,
      });
    }
  },
  pendingComponent: Checking,
  component: SignedIn,
});

function Checking(): ReactNode {
  return (
    <>
      <p className="sr-only">Checking authentication...</p>
      <PagePending />
    </>
  );
}

function SignedIn(): ReactNode {
  useLeaveWhenSignedOut();
  return (
    <QueryClientProvider client={queryClient}>
      <Outlet />
    </QueryClientProvider>
  );
}
