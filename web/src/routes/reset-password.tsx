import { createFileRoute } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import * as v from 'valibot';
import { ResetPage } from '#web/features/identity/links/reset-page.tsx';

export const Route = createFileRoute('/reset-password')({
  component: ResetRoute,
  validateSearch: v.object({ reason: v.optional(v.fallback(v.string(), '')) }),
  staticData: { title: 'Reset password' },
});

function ResetRoute(): ReactNode {
  const { reason } = Route.useSearch();
  return <ResetPage reason={reason} />;
}
