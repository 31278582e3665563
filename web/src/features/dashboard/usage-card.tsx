import type { ReactNode } from 'react';
import type { User } from '#services/identity/contract.ts';
import { LinkButton } from '#web/ui/button.tsx';
import { Notice } from '#web/ui/notice.tsx';
import { nextMonth, planWords, type Usage, usageOf } from './usage.ts';

const colours: Readonly<Record<Usage['level'], string>> = {
  calm: 'text-accent',
  attention: 'text-warn',
  warning: 'text-bad',
};

/** The month's runs against the plan's limit, and what that limit blocks. */
export function MonthlyUsage({ user, now }: { user: User; now: Date }): ReactNode {
  const usage = usageOf(user);
  const resets = new Intl.DateTimeFormat(undefined, {
    day: 'numeric',
    month: 'long',
    timeZone: 'UTC',
  }).format(nextMonth(now));
  return (
    <div className="space-y-4">
      <p className="flex flex-wrap items-baseline justify-between gap-x-4">
        <span>
          <span className="text-2xl font-semibold">{usage.used}</span>{' '}
          <span className="text-ink-2">
            {usage.limit === null ? 'optimizations, Unlimited' : `of ${usage.limit} optimizations`}
          </span>
        </span>
        <span className="text-ink-2">{planWords[user.subscription_tier]}</span>
      </p>
      {usage.percent === null ? null : <UsageBar usage={usage} percent={usage.percent} />}
      <p className="text-sm text-ink-2">
        {usage.limit === null
          ? 'Nothing is blocked, whatever credits pay for a run.'
          : `Counted by UTC month; begins anew on ${resets}. The limit only blocks runs that bonus credits would pay for. Runs paid with other credits go on.`}
      </p>
      {usage.isApproaching ? (
        <Notice tone="warn" title="Approaching Usage Limit">
          You&apos;ve used {usage.percent}% of your monthly optimization limit. Consider upgrading
          to continue optimizing.
        </Notice>
      ) : null}
      {user.subscription_tier === 'free' ? (
        <div className="space-y-3 border-t border-line pt-4">
          <p className="text-ink-2">
            Get 10x more optimizations and unlock advanced features with Pro.
          </p>
          <LinkButton to="/" hash="pricing">
            See the plans
          </LinkButton>
        </div>
      ) : null}
    </div>
  );
}

function UsageBar({ usage, percent }: { usage: Usage; percent: number }): ReactNode {
  return (
    <div className="flex items-center gap-3">
      <progress
        aria-label="Share of the monthly limit"
        value={Math.min(percent, 100)}
        max={100}
        className={`bar ${colours[usage.level]}`}
      >
        {percent} %
      </progress>
      <span className="shrink-0 text-sm font-medium">
        {percent} %{usage.level === 'warning' ? ', nearly used up' : ''}
      </span>
    </div>
  );
}
