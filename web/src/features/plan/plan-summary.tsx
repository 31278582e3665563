import type { ReactNode } from 'react';
import type { Plan } from '#services/payments/contract.ts';
import { LinkButton } from '#web/ui/form/button.tsx';
import { price } from '#web/ui/text/figures.ts';
import { Status } from '#web/ui/feedback/status.tsx';
import { planWords } from '#web/member/tier-name.ts';
import { heldPlan, limitSentence, statusWords } from './words.ts';

/** The plan in a few lines, for the account settings. */
export function PlanSummary({ plan: answer }: { plan: Plan }): ReactNode {
  const plan = heldPlan(answer);
  const words = plan && statusWords(plan, null);
  return (
    <div className="space-y-4">
      <div className="space-y-1">
        <p className="flex flex-wrap items-baseline gap-x-4 font-medium">
          {plan === null
            ? planWords[answer.tier]
            : `${plan.package_name}, ${price(plan.amount_cents)} a month`}
          {words === null ? null : <Status tone={words.tone}>{words.word}</Status>}
        </p>
        <p className="text-ink-2">{words?.sentence ?? limitSentence(answer.monthly_limit)}</p>
      </div>
      {plan === null ? (
        <LinkButton to="/credits/purchase" hash="monthly">
          See the plans
        </LinkButton>
      ) : (
        <LinkButton to="/credits/plan">Change or cancel plan</LinkButton>
      )}
    </div>
  );
}
