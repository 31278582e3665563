import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { LinkButton } from '#web/ui/form/button.tsx';
import { Notice } from '#web/ui/feedback/notice.tsx';
import { planQuery } from './queries.ts';
import { statusWords } from './words.ts';

/** Reports a plan's failed payment, else renders nothing. */
export function PastDue(): ReactNode {
  const plan = useQuery(planQuery).data?.plan;
  if (plan?.status !== 'past_due') return null;
  return (
    <Notice
      tone="warn"
      title={`Your ${plan.package_name} payment failed`}
      actions={<LinkButton to="/credits/plan">See your plan</LinkButton>}
    >
      {statusWords(plan, null).sentence}
    </Notice>
  );
}
