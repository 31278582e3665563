import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { BatteryFull, BatteryLow, BatteryMedium, BatteryWarning } from 'lucide-react';
import type { ReactNode } from 'react';
import type { Balance } from '#services/credits/contract.ts';
import { LinkButton } from '#web/ui/form/button.tsx';
import { credits, creditsInWords } from '#services/platform/numbers.ts';
import { RelativeTime } from '#web/ui/text/relative-time.tsx';
import { Skeleton, useSkeleton } from '#web/ui/feedback/skeleton.tsx';
import { balanceQuery } from './queries.ts';
import { type CreditTier, creditTier, lowCredits, stockWords } from './tier.ts';

/** Milliseconds. The stream reports balance changes; this is for when it is unavailable. */
const refreshMs = 300_000;

const icons: Readonly<Record<CreditTier, typeof BatteryFull>> = {
  plenty: BatteryFull,
  enough: BatteryMedium,
  low: BatteryLow,
  'very-low': BatteryWarning,
};

const colours: Readonly<Record<CreditTier, string>> = {
  plenty: 'text-ok',
  enough: 'text-ok',
  low: 'text-warn',
  'very-low': 'text-bad',
};

function useBalance() {
  return useQuery({ ...balanceQuery, refetchInterval: refreshMs });
}

/** Of a fixed size, so that a balance that arrives or changes moves nothing beside it. */
const place = 'inline-flex min-h-11 w-38 max-w-full items-center gap-2 px-2';

/**
 * The balance in the bar: figure and state, or the credits on hold for running optimizations. The
 * offer of more stands before it, where the bar is empty.
 */
export function CreditsBadge(): ReactNode {
  const { data, isPending, isError, dataUpdatedAt } = useBalance();
  const waiting = useSkeleton(isPending);
  if (isPending || (waiting && !data))
    return <span className={place}>{waiting ? <Skeleton className="h-10 w-full" /> : null}</span>;
  const isLow = data !== undefined && data.available_credits < lowCredits;
  return (
    <div className="relative min-w-0">
      {isLow ? (
        <Link
          to="/credits/purchase"
          className="link absolute end-full hidden min-h-11 items-center px-1 text-sm whitespace-nowrap xl:inline-flex"
        >
          Buy More Credits
        </Link>
      ) : null}
      <Link to="/credits" className={`${place} rounded-control text-ink hover:bg-sunken`}>
        {data === undefined ? (
          <span title="Failed to load credits">Credits: --</span>
        ) : (
          <>
            <TierIcon available={data.available_credits} />
            <span className="min-w-0 leading-tight">
              <span className="block font-semibold">{creditsInWords(data.available_credits)}</span>
              <span className="block text-sm text-ink-2">
                {data.reserved_credits > 0 ? (
                  <>
                    <span className="sr-only">{stockWords(data)}, </span>
                    {credits(data.reserved_credits)} reserved
                  </>
                ) : (
                  <span className={stateColour(data)}>{stockWords(data)}</span>
                )}
              </span>
              {isError ? (
                <span className="block text-sm text-ink-2">
                  Updated <RelativeTime at={new Date(dataUpdatedAt).toISOString()} />
                </span>
              ) : null}
            </span>
          </>
        )}
      </Link>
    </div>
  );
}

/** The full balance, for the phone menu. */
export function CreditsInFull(): ReactNode {
  const { data, isError, dataUpdatedAt } = useBalance();
  if (data === undefined) return <p className="font-semibold">Credits: --</p>;
  return (
    <div className="space-y-3 rounded-control bg-sunken p-4">
      <p className="flex items-center gap-2">
        <TierIcon available={data.available_credits} />
        <span className="text-lg font-semibold">{creditsInWords(data.available_credits)}</span>
        <span className={stateColour(data)}>{stockWords(data)}</span>
      </p>
      <dl className="grid grid-cols-2 gap-x-4 gap-y-1 text-ink-2">
        <dt>Reserved</dt>
        <dd className="text-end">{credits(data.reserved_credits)}</dd>
        <dt>Used so far</dt>
        <dd className="text-end">{credits(data.total_consumed)}</dd>
        {data.debt_credits > 0 ? (
          <>
            <dt>Owed</dt>
            <dd className="text-end">{credits(data.debt_credits)}</dd>
          </>
        ) : null}
      </dl>
      {isError ? (
        <p className="text-sm text-ink-2">
          Updated <RelativeTime at={new Date(dataUpdatedAt).toISOString()} />
        </p>
      ) : null}
      {data.available_credits < lowCredits ? (
        <LinkButton to="/credits/purchase">Buy More Credits</LinkButton>
      ) : null}
    </div>
  );
}

function stateColour({ debt_credits: debt, spending_frozen: isFrozen }: Balance): string {
  return isFrozen || debt > 0 ? 'text-bad' : 'text-ink-2';
}

function TierIcon({ available }: { available: number }): ReactNode {
  const tier = creditTier(available);
  const Icon = icons[tier];
  return <Icon size={20} aria-hidden="true" className={`shrink-0 ${colours[tier]}`} />;
}
