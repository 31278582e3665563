import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { QueryBlock } from '#web/api/query-block.tsx';
import { Decision } from '#web/features/dashboard/brief/decision.tsx';
import { competitiveQuery } from '#web/features/dashboard/queries.ts';
import { Card } from '#web/ui/card.tsx';
import { EmptyState } from '#web/ui/feedback/empty-state.tsx';
import { Skeleton } from '#web/ui/feedback/skeleton.tsx';
import { LinkButton } from '#web/ui/form/button.tsx';

/** Fills the form, and is about competitors by the words that the server looks for. */
const firstQuestion =
  'Who are our closest competitors, and what should we do differently from them in the next quarter?';

/** The newest decision about competitors: what the models agree on, and what stays open. */
export function Competitive(): ReactNode {
  const answer = useQuery(competitiveQuery);
  return (
    <Card aria-labelledby="competitive" className="min-w-0 space-y-4">
      <h2 id="competitive" className="text-2xl">
        Competitive Intelligence
      </h2>
      <QueryBlock
        answer={answer}
        label="Loading competitive intelligence"
        failure="We couldn't load your competitive intelligence"
        skeleton={<Skeleton className="h-64" />}
      >
        {({ run }) =>
          run === null ? (
            <EmptyState
              action={
                <LinkButton
                  to="/optimization"
                  search={{ challenge: firstQuestion }}
                  className="wrap-anywhere"
                >
                  Ask about competitors
                </LinkButton>
              }
            >
              When you ask about competitors, what the models agree on and what stays open appears
              here.
            </EmptyState>
          ) : (
            <Decision run={run} level={3} short />
          )
        }
      </QueryBlock>
    </Card>
  );
}
