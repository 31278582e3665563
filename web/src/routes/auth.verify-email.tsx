import { createFileRoute } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import * as v from 'valibot';
import { VerifyPage } from '#web/features/identity/links/verify-page.tsx';

export const Route = createFileRoute('/auth/verify-email')({
  component: VerifyRoute,
  validateSearch: v.object({ redirect: v.optional(v.fallback(v.string(), '')) }),
  staticData: { title: 'Superintelligence Access Initiated' },
});

function VerifyRoute(): ReactNode {
  const { redirect } = Route.useSearch();
  return <VerifyPage redirect={redirect} />;
}
