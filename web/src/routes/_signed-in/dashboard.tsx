import { createFileRoute } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useSession } from '#web/features/identity/session.ts';
import { useGreeting } from '#web/features/dashboard/greeting.ts';
import { LinkButton } from '#web/ui/button.tsx';

export const Route = createFileRoute('/_signed-in/dashboard')({
  component: DashboardPage,
  staticData: { title: 'Dashboard' },
});

function DashboardPage(): ReactNode {
  const session = useSession();
  const hello = useGreeting('user' in session ? session.user.name : '');
  return (
    <div className="mx-auto max-w-page space-y-8 px-4 pt-8 sm:px-6">
      <div className="flex flex-wrap items-center justify-between gap-4">
        <h1 className="text-4xl">{hello}</h1>
        <LinkButton to="/optimization" tone="primary">
          New Optimization
        </LinkButton>
      </div>
    </div>
  );
}
