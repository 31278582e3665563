import { createFileRoute } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { LinkPage } from '#web/features/identity/links/link-page.tsx';

export const Route = createFileRoute('/auth/link/$kind')({
  component: LinkRoute,
  staticData: { title: 'Your link' },
});

function LinkRoute(): ReactNode {
  const { kind } = Route.useParams();
  return <LinkPage kind={kind} />;
}
