import { useQuery } from '@tanstack/react-query';
import { createFileRoute, Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { QueryBlock } from '#web/api/query-block.tsx';
import { BriefPage } from '#web/features/dashboard/brief/brief-page.tsx';
import { briefQuery } from '#web/features/dashboard/queries.ts';
import { Skeleton } from '#web/ui/feedback/skeleton.tsx';

export const Route = createFileRoute('/_signed-in/dashboard_/brief')({
  component: IntelligenceBrief,
  staticData: { title: 'Intelligence Brief' },
});

function IntelligenceBrief(): ReactNode {
  const brief = useQuery(briefQuery);
  return (
    <div className="mx-auto max-w-page space-y-6 px-4 pt-8 sm:px-6">
      <h1 className="text-4xl">Intelligence Brief</h1>
      <p className="print:hidden">
        <Link to="/dashboard" className="link inline-flex min-h-11 items-center">
          Back to dashboard
        </Link>
      </p>
      <QueryBlock
        answer={brief}
        label="Loading your brief"
        failure="We couldn't load your brief"
        safe="Your results are safe."
        skeleton={<Skeleton className="h-96" />}
      >
        {(data) => <BriefPage brief={data} />}
      </QueryBlock>
    </div>
  );
}
