import { createFileRoute } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import * as v from 'valibot';
import { AuthErrorPage } from '#web/features/identity/error-page.tsx';

export const Route = createFileRoute('/auth/error')({
  component: ErrorRoute,
  validateSearch: v.object({ message: v.optional(v.unknown()) }),
  staticData: { title: 'Authentication error' },
});

function ErrorRoute(): ReactNode {
  const { message } = Route.useSearch();
  return <AuthErrorPage code={typeof message === 'string' ? message : undefined} />;
}
