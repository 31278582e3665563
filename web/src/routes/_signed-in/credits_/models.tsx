import { useQuery } from '@tanstack/react-query';
import { createFileRoute, Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { QueryBlock } from '#web/api/query-block.tsx';
import { Together } from '#web/api/together.tsx';
import { OwnModels, PricedModels } from '#web/features/credits/models/model-tables.tsx';
import { analyticsQuery, modelCostsQuery } from '#web/features/credits/queries.ts';
import { Skeleton } from '#web/ui/feedback/skeleton.tsx';

export const Route = createFileRoute('/_signed-in/credits_/models')({
  component: ModelsPage,
  staticData: { title: 'Model costs' },
});

function ModelsPage(): ReactNode {
  const analytics = useQuery(analyticsQuery);
  const costs = useQuery(modelCostsQuery);
  return (
    <div className="mx-auto max-w-page space-y-6 px-4 pt-8 sm:px-6">
      <h1 className="text-4xl">Model costs</h1>
      <p>
        <Link to="/credits" className="link inline-flex min-h-11 items-center">
          Back to credits
        </Link>
      </p>
      <Together
        answers={[analytics, costs]}
        label="Loading the costs of models"
        skeleton={<Skeleton className="h-96" />}
      >
        {() => (
          <div className="space-y-6">
            <QueryBlock
              answer={analytics}
              label="Loading the models of your runs"
              failure="We couldn't load the models of your runs"
              skeleton={<Skeleton className="h-96" />}
            >
              {(data) => <OwnModels analytics={data} />}
            </QueryBlock>
            <QueryBlock
              answer={costs}
              label="Loading prices of models"
              failure="We couldn't load the prices of models"
              skeleton={<Skeleton className="h-96" />}
            >
              {(data) => <PricedModels costs={data} />}
            </QueryBlock>
          </div>
        )}
      </Together>
    </div>
  );
}
