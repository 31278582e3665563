import { QueryClientProvider } from '@tanstack/react-query';
import { createFileRoute } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { queryClient } from '#web/api/query-client.ts';
import { SharedPage } from '#web/features/result/sharing/shared-page.tsx';

/** Needs no sign-in: everyone who has the link may read. */
export const Route = createFileRoute('/shared/$token')({
  component: Shared,
  staticData: { title: 'Shared result' },
});

function Shared(): ReactNode {
  const { token } = Route.useParams();
  return (
    <QueryClientProvider client={queryClient}>
      <SharedPage key={token} token={token} />
    </QueryClientProvider>
  );
}
