import { Link } from '@tanstack/react-router';
import { type ReactNode, type RefObject, useEffect, useRef, useState } from 'react';
import type { Package } from '#services/payments/contract.ts';
import { LinkButton } from '#web/ui/form/button.tsx';
import { Card } from '#web/ui/card.tsx';
import { classNames } from '#web/ui/class-names.ts';
import { creditsInWords } from '#services/platform/numbers.ts';
import { price } from '#web/ui/text/figures.ts';
import { Badge } from '#web/ui/feedback/status.tsx';
import { builtPackages, runPrices } from './catalogue.ts';

/** Pages are built once for everyone, so their figures use one locale. */
const locale = 'en-US';

export function Pricing({ signedIn }: { signedIn: boolean }): ReactNode {
  const section = useRef<HTMLElement>(null);
  const packages = usePackages(section);
  const group = { packages, signedIn };
  return (
    <section ref={section} aria-labelledby="pricing" className="space-y-8">
      <div className="max-w-prose space-y-3">
        <h2 id="pricing" className="text-4xl">
          Pricing
        </h2>
        <p className="text-ink-2">
          You pay for runs with credits. The price depends on the strategy:{' '}
          {runPrices
            .map(({ strategy, credits }) => `${strategy.toLowerCase()} ${credits}`)
            .join(', ')}{' '}
          credits. It's fixed before the run starts.
        </p>
      </div>
      <PackageGroup title="One-time" kind="one_time" {...group} />
      <PackageGroup title="Monthly. Renews until you cancel." kind="monthly" {...group} />
      <p className="max-w-prose text-ink-2">
        Prices are in US dollars. Tax is added where it applies.{' '}
        <Link to="/terms" hash="credits" className="link">
          Credits never expire
        </Link>
        , a failed run{' '}
        <Link to="/terms" hash="failed-runs" className="link">
          returns half its price automatically
        </Link>
        , and unused credits are{' '}
        <Link to="/terms" hash="refunds" className="link">
          refundable within 30 days
        </Link>
        .
      </p>
    </section>
  );
}

/** The built prices, replaced by the server's once they scroll into view. */
function usePackages(section: RefObject<HTMLElement | null>): readonly Package[] {
  const [packages, setPackages] = useState(builtPackages);
  useEffect(() => {
    const asking = new AbortController();
    const refresh = async (): Promise<void> => {
      try {
        const { currentPackages } = await import('./current-packages.ts');
        setPackages(await currentPackages(asking.signal));
      } catch (error) {
        // On failure the built prices stay: the payment page names the price again before payment.
        if (!asking.signal.aborted) console.warn('The prices could not be refreshed', error);
      }
    };
    const observer = new IntersectionObserver((entries) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      observer.disconnect();
      void refresh();
    });
    if (section.current) observer.observe(section.current);
    return () => {
      observer.disconnect();
      asking.abort();
    };
  }, [section]);
  return packages;
}

function PackageGroup({
  title,
  kind,
  packages,
  signedIn,
}: {
  title: string;
  kind: Package['kind'];
  packages: readonly Package[];
  signedIn: boolean;
}): ReactNode {
  const offered = packages.filter((item) => item.kind === kind);
  if (offered.length === 0) return null;
  return (
    <div className="space-y-4">
      <h3 className="text-lg font-semibold">{title}</h3>
      <ul
        className={classNames(
          'grid grid-cols-1 gap-4 sm:grid-cols-2',
          kind === 'one_time' && 'lg:grid-cols-4',
        )}
      >
        {offered.map((item) => (
          <li key={item.id}>
            <Card className="flex h-full flex-col gap-3">
              <h4 className="flex flex-wrap items-center justify-between gap-x-3 font-semibold">
                {item.name}
                {item.popular && import.meta.env.SHOWS_MOST_POPULAR ? (
                  <Badge>Most Popular</Badge>
                ) : null}
              </h4>
              <p>
                <span className="text-3xl font-semibold">{price(item.price_cents, locale)}</span>
                <span className="text-ink-3">{kind === 'monthly' ? ' a month' : ' once'}</span>
              </p>
              <p className="font-medium">
                {creditsInWords(item.credits, locale)}
                {kind === 'monthly' ? ' each month' : ''}
              </p>
              <p className="grow text-ink-2">{item.description}</p>
              <Choose item={item} signedIn={signedIn} />
            </Card>
          </li>
        ))}
      </ul>
    </div>
  );
}

/** A visitor signs up first; the chosen package is kept in the address. */
function Choose({ item: { id, name }, signedIn }: { item: Package; signedIn: boolean }): ReactNode {
  const words = (
    <>
      Choose<span className="sr-only"> {name}</span>
    </>
  );
  return signedIn ? (
    <LinkButton to="/credits/purchase" search={{ package: id }}>
      {words}
    </LinkButton>
  ) : (
    <LinkButton to="/signup" search={{ redirect: `/credits/purchase?package=${id}` }}>
      {words}
    </LinkButton>
  );
}
