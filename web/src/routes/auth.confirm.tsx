import { createFileRoute } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import * as v from 'valibot';
import { ConfirmPage } from '#web/features/identity/links/confirm-page.tsx';

export const Route = createFileRoute('/auth/confirm')({
  component: ConfirmRoute,
  // As the router parses them, so that it leaves the address alone: `true` becomes a boolean.
  validateSearch: v.object({
    confirmed: v.optional(v.unknown()),
    error: v.optional(v.unknown()),
    redirect: v.optional(v.unknown()),
  }),
  staticData: { title: 'Confirm your email' },
});

function ConfirmRoute(): ReactNode {
  const { confirmed, error, redirect } = Route.useSearch();
  return (
    <ConfirmPage confirmed={textOf(confirmed)} error={textOf(error)} redirect={textOf(redirect)} />
  );
}

function textOf(parameter: unknown): string | undefined {
  return parameter === undefined || typeof parameter === 'string'
    ? parameter
    : JSON.stringify(parameter);
}
