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
import { type CreditTier, creditTier, lowCredits, tierWords } from './tier.ts';

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

/** The balance in the bar: figure, tier, and the credits on hold for running optimizations. */
export function CreditsBadge(): ReactNode {
  const { data, isPending, isError, dataUpdatedAt } = useBalance();
  const waiting = useSkeleton(isPending);
  if (isPending || (waiting && !data)) {
    return waiting ? <Skeleton className="h-7 w-36" /> : <span className="h-7 w-36" />;
  }
  const isLow = data !== undefined && data.available_credits < lowCredits;
  return (
    <div className="flex min-w-0 items-center gap-3">
      <Link
        to="/credits"
        className="inline-flex min-h-11 min-w-0 items-center gap-2 rounded-control px-2 text-ink hover:bg-sunken"
      >
        {data === undefined ? (
          <span title="Failed to load credits">Credits: --</span>
        ) : (
          <>
            <TierIcon available={data.available_credits} />
            <span className="min-w-0 leading-tight">
              <span className="font-semibold">{creditsInWords(data.available_credits)}</span>
              <span className={stateColour(data)}>
                {' · '}
                {stateWords(data)}
              </span>
              {data.reserved_credits > 0 ? (
                <span className="block text-sm text-ink-2">
                  reserved {credits(data.reserved_credits)}
                </span>
              ) : null}
              {isError ? (
                <span className="block text-sm text-ink-2">
                  read <RelativeTime at={new Date(dataUpdatedAt).toISOString()} />
                </span>
              ) : null}
            </span>
          </>
        )}
      </Link>
      {isLow ? (
        <span className="hidden lg:inline">
          <BuyMoreCredits />
        </span>
      ) : null}
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
        <span className={stateColour(data)}>{stateWords(data)}</span>
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
      {data.available_credits < lowCredits ? <BuyMoreCredits /> : null}
    </div>
  );
}

function stateColour({ debt_credits: debt, spending_frozen: isFrozen }: Balance): string {
  return isFrozen || debt > 0 ? 'text-bad' : 'text-ink-2';
}

/** A debt comes first: nothing starts before it is settled. */
function stateWords({
  available_credits: available,
  debt_credits: debt,
  spending_frozen: isFrozen,
}: Balance): string {
  if (isFrozen) return 'frozen';
  return debt > 0 ? `${credits(debt)} owed` : tierWords[creditTier(available)];
}

function BuyMoreCredits(): ReactNode {
  return <LinkButton to="/credits/purchase">Buy More Credits</LinkButton>;
}

function TierIcon({ available }: { available: number }): ReactNode {
  const tier = creditTier(available);
  const Icon = icons[tier];
  return <Icon size={20} aria-hidden="true" className={`shrink-0 ${colours[tier]}`} />;
}
