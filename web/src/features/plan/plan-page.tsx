import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import type { Package, Plan, PlanRequest } from '#services/payments/contract.ts';
import { announce } from '#web/ui/feedback/announcer.tsx';
import { Button, LinkButton } from '#web/ui/form/button.tsx';
import { Card } from '#web/ui/card.tsx';
import { Dialog } from '#web/ui/dialog.tsx';
import { EmptyState } from '#web/ui/feedback/empty-state.tsx';
import { creditsInWords } from '#services/platform/numbers.ts';
import { price } from '#web/ui/text/figures.ts';
import { Notice } from '#web/ui/feedback/notice.tsx';
import { Status } from '#web/ui/feedback/status.tsx';
import { planWords } from '#web/member/tier-name.ts';
import { PortalButton } from './portal-button.tsx';
import { changePlan, planQuery } from './queries.ts';
import {
  type Change,
  heldPlan,
  type HeldPlan,
  limitSentence,
  planProblem,
  questionOf,
  statusWords,
} from './words.ts';

/** The tier, its plan, and what can be done with it. `packages` may be unknown. */
export function PlanDetails({
  plan: answer,
  packages = [],
}: {
  plan: Plan;
  packages?: readonly Package[] | undefined;
}): ReactNode {
  const plan = heldPlan(answer);
  return (
    <div className="space-y-6">
      {plan === null ? <NoPlan ended={answer.plan} /> : <Held plan={plan} packages={packages} />}
      <Card aria-labelledby="limit" className="space-y-2">
        <h2 id="limit" className="text-2xl">
          Monthly limit
        </h2>
        <p className="font-medium">{planWords[answer.tier]}</p>
        <p className="max-w-prose text-ink-2">{limitSentence(answer.monthly_limit)}</p>
      </Card>
    </div>
  );
}

function NoPlan({ ended }: { ended: Plan['plan'] }): ReactNode {
  return (
    <div className="space-y-4">
      {ended === null ? null : (
        <Notice tone="info" title={`${ended.package_name} has ended`}>
          {statusWords(ended, null).sentence} You keep the credits it added.
        </Notice>
      )}
      <EmptyState
        action={
          <LinkButton to="/credits/purchase" hash="monthly" tone="primary">
            See the plans
          </LinkButton>
        }
      >
        You don't have a plan. Your runs are paid from your balance. If you choose a plan, you can
        see its price and renewal date here, and change or cancel it.
      </EmptyState>
      {ended === null ? null : <PortalButton />}
    </div>
  );
}

function Held({ plan, packages }: { plan: HeldPlan; packages: readonly Package[] }): ReactNode {
  const [asked, setAsked] = useState<Change | null>(null);
  const next =
    packages.find(({ id }) => id === plan.next_package_id && id !== plan.package_id) ?? null;
  // While a payment is missing nothing can be changed; the card comes first.
  const others =
    plan.status === 'past_due'
      ? []
      : packages.filter(
          ({ id, kind }) =>
            kind === 'monthly' && id !== plan.package_id && id !== plan.next_package_id,
        );
  const { tone, word, sentence } = statusWords(plan, next);
  return (
    <>
      <Card aria-labelledby="plan" className="space-y-5">
        <div className="flex flex-wrap items-baseline justify-between gap-x-6 gap-y-1">
          <h2 id="plan" className="text-2xl">
            {plan.package_name}
          </h2>
          <Status tone={tone}>{word}</Status>
        </div>
        <p>
          <span className="text-3xl font-semibold">{price(plan.amount_cents)}</span>
          <span className="text-ink-2"> a month for </span>
          <span className="font-medium">{creditsInWords(plan.credits)}</span>
        </p>
        {plan.status === 'past_due' ? (
          <Notice
            tone="warn"
            title="Please update your card"
            actions={<PortalButton tone="primary" />}
          >
            {sentence}
          </Notice>
        ) : (
          <p className="max-w-prose">{sentence}</p>
        )}
        <div className="flex flex-wrap gap-3">
          {plan.status === 'cancelling' ? (
            <Button tone="primary" onClick={() => setAsked({ action: 'resume' })}>
              Resume plan
            </Button>
          ) : (
            <>
              {others.map((to) => (
                <Button key={to.id} onClick={() => setAsked({ action: 'change', to })}>
                  Change to {to.name}
                </Button>
              ))}
              {next !== null && plan.status === 'active' ? (
                <Button onClick={() => setAsked({ action: 'keep', insteadOf: next })}>
                  Keep {plan.package_name}
                </Button>
              ) : null}
            </>
          )}
          {plan.status === 'past_due' ? null : <PortalButton />}
          {plan.status === 'cancelling' ? null : (
            <Button tone="danger" onClick={() => setAsked({ action: 'cancel' })}>
              Cancel plan
            </Button>
          )}
        </div>
        <p className="max-w-prose text-sm text-ink-2">
          Prices don't include tax. Where tax applies, it's added to each invoice. Changes take
          effect at renewal. You can find cards, invoices, and receipts on our payment provider's
          page.
        </p>
      </Card>
      <Confirm plan={plan} change={asked} onClose={() => setAsked(null)} />
    </>
  );
}

/** Confirms a change of the plan, and stays open until it is made. */
function Confirm({
  plan,
  change,
  onClose,
}: {
  plan: HeldPlan;
  change: Change | null;
  onClose: () => void;
}): ReactNode {
  const client = useQueryClient();
  const work = useMutation({
    mutationFn: (asked: Change) => changePlan(requestOf(asked, plan), crypto.randomUUID()),
    onSuccess: (answer, asked) => {
      client.setQueryData(planQuery.queryKey, answer);
      announce(questionOf(asked, plan).done);
      onClose();
    },
  });
  const question = change && questionOf(change, plan);
  const close = (): void => {
    work.reset();
    onClose();
  };
  return (
    <Dialog
      open={question !== null}
      onClose={close}
      title={question?.title ?? ''}
      actions={
        question && change ? (
          <>
            <Button onClick={close}>{question.keep}</Button>
            <Button
              tone={change.action === 'cancel' ? 'danger' : 'primary'}
              busy={work.isPending}
              onClick={() => work.mutate(change)}
            >
              {work.isPending ? 'One moment…' : question.confirm}
            </Button>
          </>
        ) : undefined
      }
    >
      {question?.sentences.map((sentence) => (
        <p key={sentence}>{sentence}</p>
      ))}
      {work.isError ? (
        <Notice
          tone="bad"
          title="We couldn't change your plan"
          announced={`We couldn't change your plan. ${planProblem(work.error)}`}
        >
          {planProblem(work.error)}
        </Notice>
      ) : null}
    </Dialog>
  );
}

function requestOf(change: Change, plan: HeldPlan): PlanRequest {
  switch (change.action) {
    case 'change':
      return { action: 'change', package_id: change.to.id };
    case 'keep':
      return { action: 'change', package_id: plan.package_id };
    default:
      return { action: change.action };
  }
}
