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
      // A visitor who wants to see a run sees the recorded one.
      if (location.pathname === '/evolution-chamber' && !('id' in location.search))
        redirect({ to: '/how-it-works', replace: true, throw: true });
      redirect({
        to: '/login',
        search: { redirect: location.href },
        replace: true,
        throw: true,
      });
    }
  },
  pendingComponent: Checking,
  // At once and no longer than needed: it follows the same skeleton, sent by the server.
  pendingMs: 0,
  pendingMinMs: 0,
  component: SignedIn,
});

function Checking(): ReactNode {
  return <PagePending words="Checking authentication..." />;
}

function SignedIn(): ReactNode {
  useLeaveWhenSignedOut();
  return (
    <QueryClientProvider client={queryClient}>
      <Outlet />
    </QueryClientProvider>
  );
}
