import type { ReactNode } from 'react';
import type { User } from '#services/identity/contract.ts';
import type { Usage } from '#services/optimizations/contract/panel.ts';
import type { Answer } from '#web/api/query-block.tsx';
import { Button, LinkButton } from '#web/ui/form/button.tsx';
import { Notice } from '#web/ui/feedback/notice.tsx';
import { nearnessOf, type Nearness, planWords } from './usage.ts';

const colours: Readonly<Record<Nearness['level'], string>> = {
  calm: 'text-accent',
  attention: 'text-warn',
  warning: 'text-bad',
};

/** The runs that the plan's limit counts, and what it blocks. */
export function MonthlyUsage({ user, usage }: { user: User; usage: Usage }): ReactNode {
  const { current_month: all, bonus_used: counted, limit, percentage } = usage;
  const { level, isApproaching } = nearnessOf(usage);
  const resets = new Intl.DateTimeFormat(undefined, {
    day: 'numeric',
    month: 'long',
    timeZone: 'UTC',
  }).format(new Date(usage.resets_at));
  return (
    <div className="space-y-4">
      <p className="flex flex-wrap items-baseline justify-between gap-x-4">
        <span>
          <span className="text-2xl font-semibold">{percentage === null ? all : counted}</span>{' '}
          <span className="text-ink-2">
            {percentage === null ? 'optimizations, Unlimited' : `of ${limit} optimizations`}
          </span>
        </span>
        <span className="text-ink-2">{planWords[user.subscription_tier]}</span>
      </p>
      {percentage === null ? null : <UsageBar level={level} percent={percentage} />}
      <p className="text-sm text-ink-2">
        {percentage === null
          ? 'Nothing is blocked, whatever credits pay for a run.'
          : `${runs(all)} this month, ${counted} of them with bonus credits. The limit only blocks runs that bonus credits would pay for. The count starts again on ${resets} (UTC).`}
      </p>
      {isApproaching ? (
        <Notice tone="warn" title="Approaching Usage Limit">
          You&apos;ve used {percentage}% of your monthly optimization limit. Consider upgrading to
          continue optimizing.
        </Notice>
      ) : null}
      {user.subscription_tier === 'free' ? (
        <div className="space-y-3 border-t border-line pt-4">
          <p className="text-ink-2">
            Get 10x more optimizations and unlock advanced features with Pro.
          </p>
          <LinkButton to="/credits/purchase" hash="monthly">
            See the plans
          </LinkButton>
        </div>
      ) : null}
    </div>
  );
}

function runs(count: number): string {
  return `${count} ${count === 1 ? 'optimization' : 'optimizations'}`;
}

/** The session knows the user's plan but not the figures, which are never guessed. */
export function UnknownUsage({
  user,
  answer,
}: {
  user: User;
  answer: Pick<Answer<unknown>, 'isFetching' | 'refetch'>;
}): ReactNode {
  return (
    <div className="space-y-4">
      <p className="flex flex-wrap items-baseline justify-between gap-x-4">
        <span>
          <span className="text-2xl font-semibold">--</span>{' '}
          <span className="text-ink-2">of -- optimizations</span>
        </span>
        <span className="text-ink-2">{planWords[user.subscription_tier]}</span>
      </p>
      <p className="text-sm text-ink-2">Your usage could not be read.</p>
      <Button onClick={() => void answer.refetch()} busy={answer.isFetching}>
        Try Again<span className="sr-only">: Monthly Usage</span>
      </Button>
    </div>
  );
}

function UsageBar({ level, percent }: { level: Nearness['level']; percent: number }): ReactNode {
  return (
    <div className="flex items-center gap-3">
      <progress
        aria-label="Share of the monthly limit"
        value={percent}
        max={100}
        className={`bar ${colours[level]}`}
      >
        {percent} %
      </progress>
      <span className="shrink-0 text-sm font-medium">
        {percent} %{level === 'warning' ? ', nearly used up' : ''}
      </span>
    </div>
  );
}
