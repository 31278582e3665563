import { type ReactNode, useEffect, useRef } from 'react';
import type { Package } from '#services/payments/contract.ts';
import { Button, LinkButton } from '#web/ui/form/button.tsx';
import { classNames } from '#web/ui/class-names.ts';
import { creditsInWords } from '#services/platform/numbers.ts';
import { price } from '#web/ui/text/figures.ts';
import { Notice } from '#web/ui/feedback/notice.tsx';
import { Badge } from '#web/ui/feedback/status.tsx';
import type { Refusal } from './refusal.ts';
import { type RunPrice, worthInWords } from './runs.ts';

type Props = {
  item: Package;
  /** The strategy in which runs are counted; null while unknown. */
  strategy: RunPrice | null;
  /** All runnable strategies, for a package that does not pay one run of `strategy`. */
  strategies: readonly RunPrice[];
  /** It was chosen on an earlier page: its button takes the focus. */
  chosen: boolean;
  /** Its payment page was left without paying. */
  cancelled: boolean;
  onSeen: () => void;
  busy: boolean;
  refusal: Refusal | null;
  onBuy: () => void;
  /** Whether the user already has a plan: this one, or another. */
  plan: 'none' | 'this' | 'other';
};

/** A package: its price, its worth in runs, and the button that leaves for the payment page. */
export function PackageCard({
  item,
  strategy,
  strategies,
  chosen,
  cancelled,
  onSeen,
  busy,
  refusal,
  onBuy,
  plan,
}: Props): ReactNode {
  const action = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!chosen) return undefined;
    // After the page's heading, which takes the focus when a page is opened.
    const frame = requestAnimationFrame(() => {
      action.current?.querySelector<HTMLElement>('a, button')?.focus({ preventScroll: true });
      action.current?.closest('li')?.scrollIntoView({ block: 'center' });
    });
    return () => cancelAnimationFrame(frame);
  }, [chosen]);
  const isMonthly = item.kind === 'monthly';
  const amount = price(item.price_cents);
  const worth = strategy && worthInWords(item, strategy, strategies);
  return (
    <li
      className={classNames(
        'flex h-full scroll-my-8 flex-col gap-3 rounded-card border bg-surface p-4 sm:p-6',
        chosen ? 'border-accent outline-1 outline-accent' : 'border-line',
      )}
    >
      <div className="flex flex-wrap items-center justify-between gap-x-3 gap-y-1">
        <h3 className="text-lg font-semibold">{item.name}</h3>
        {plan === 'this' ? (
          <Badge tone="ok">Your plan</Badge>
        ) : chosen ? (
          <Badge>Your choice</Badge>
        ) : item.popular && import.meta.env.SHOWS_MOST_POPULAR ? (
          <Badge>Most Popular</Badge>
        ) : null}
      </div>
      <p>
        <span className="text-3xl font-semibold">{amount}</span>
        <span className="text-ink-2">{isMonthly ? ' a month' : ' once'}</span>
      </p>
      <p className="font-medium">
        {creditsInWords(item.credits)}
        {isMonthly ? ' each month' : ''}
      </p>
      <p className="text-ink-2">{item.description}</p>
      {worth === null ? null : (
        <p>
          <span className="block font-medium">{worth.main}</span>
          {worth.rest === null ? null : (
            <span className="block text-sm text-ink-2">{worth.rest}</span>
          )}
        </p>
      )}
      {isMonthly ? (
        <p className="text-sm text-ink-2">
          Renews monthly. Cancel anytime: it runs to the end of the month you've paid for, and you
          keep your credits.
        </p>
      ) : null}
      <div ref={action} className="mt-auto flex flex-col gap-3">
        {plan === 'none' ? (
          <Button tone={chosen ? 'primary' : 'secondary'} busy={busy} onClick={onBuy}>
            {busy ? (
              'Opening checkout…'
            ) : (
              <>
                {isMonthly ? `Subscribe for ${amount} a month` : `Buy for ${amount}`}
                <span className="sr-only"> {item.name}</span>
              </>
            )}
          </Button>
        ) : (
          <LinkButton to="/credits/plan">
            {plan === 'this' ? 'See your plan' : 'Change your plan'}
            <span className="sr-only"> {item.name}</span>
          </LinkButton>
        )}
        {cancelled ? (
          <Notice
            tone="info"
            title="Checkout canceled. You weren't charged."
            announced="Checkout canceled. You weren't charged."
            onDismiss={onSeen}
          />
        ) : null}
        {refusal === null ? null : <Refused refusal={refusal} />}
      </div>
    </li>
  );
}

function Refused({ refusal: { sentence, next } }: { refusal: Refusal }): ReactNode {
  return (
    <Notice
      tone="bad"
      title="Purchase failed"
      announced={`Purchase failed. ${sentence} You weren't charged.`}
      actions={
        next === 'plan' ? (
          <LinkButton to="/credits/plan" tone="primary">
            Go to your plan
          </LinkButton>
        ) : undefined
      }
    >
      <p>{sentence}</p>
      <p>You weren't charged.</p>
    </Notice>
  );
}
