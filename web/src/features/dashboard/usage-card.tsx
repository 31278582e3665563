import type { ReactNode } from 'react';
import { moment } from '#web/ui/text/day.ts';
import type { User } from '#services/identity/contract/session.ts';
import type { Usage } from '#services/optimizations/contract/panel.ts';
import type { Answer } from '#web/api/query-block.tsx';
import { Button, LinkButton } from '#web/ui/form/button.tsx';
import { Notice } from '#web/ui/feedback/notice.tsx';
import { planWords } from '#web/member/tier-name.ts';
import { nearnessOf, type Nearness } from './usage.ts';

const colours: Readonly<Record<Nearness['level'], string>> = {
  calm: 'text-accent',
  attention: 'text-warn',
  warning: 'text-bad',
};

/** The runs that the plan's limit counts, and what it blocks. */
export function MonthlyUsage({
  user,
  usage,
  isGranted,
}: {
  user: User;
  usage: Usage;
  /** The tier comes without a subscription. */
  isGranted: boolean;
}): ReactNode {
  const { current_month: all, bonus_used: counted, limit, percentage } = usage;
  const { level, isApproaching } = nearnessOf(usage);
  const resets = moment(usage.resets_at, { day: 'numeric', month: 'long', timeZone: 'UTC' });
  return (
    <div className="space-y-4">
      <p className="flex flex-wrap items-baseline justify-between gap-x-4">
        <span>
          <span className="text-2xl font-semibold">{percentage === null ? all : counted}</span>{' '}
          <span className="text-ink-2">
            {percentage === null
              ? 'optimizations, Unlimited'
              : `of ${limit} optimizations on bonus credits`}
          </span>
        </span>
        <span className="text-ink-2">{planWords[user.subscription_tier]}</span>
      </p>
      {isGranted ? (
        <p className="text-sm text-ink-2">Granted to your account. You have no subscription.</p>
      ) : null}
      {percentage === null ? null : <UsageBar level={level} percent={percentage} />}
      <p className="text-sm text-ink-2">
        {percentage === null
          ? 'No limit on runs, whichever credits pay for them.'
          : `You started ${runs(all)} this month. Only those on bonus credits count toward the limit; others are never blocked. Resets on ${resets} (UTC).`}
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
            {import.meta.env.SHOWS_PRO_CLAIM
              ? 'Get 10x more optimizations and unlock advanced features with Pro.'
              : `A plan adds credits every month${percentage === null ? '' : ` and raises the limit of ${limit} optimizations with bonus credits`}.`}
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
      <p className="text-sm text-ink-2">We couldn't load your usage.</p>
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
        {percent}%
      </progress>
      <span className="shrink-0 text-sm font-medium">
        {percent}%{level === 'warning' ? ', almost used up' : ''}
      </span>
    </div>
  );
}
