import type { ReactNode } from 'react';
import { creditsInWords } from '#services/platform/numbers.ts';
import { price } from '#web/ui/text/figures.ts';
import { builtPackages } from './catalogue.ts';

/** The price of the package chosen before signing up, and whether it renews. */
export function WantedPackage({
  id,
  heading,
  otherwise,
}: {
  id: string;
  heading: string;
  /** Shown for an unknown package. */
  otherwise: ReactNode;
}): ReactNode {
  const wanted = builtPackages.find((one) => one.id === id);
  if (!wanted) return otherwise;
  const isPlan = wanted.kind === 'monthly';
  return (
    <>
      <h2 id={heading} className="text-2xl">
        {wanted.name}: {price(wanted.price_cents)}
        {isPlan ? ' a month, renews until you cancel' : ', paid once'}
      </h2>
      <p className="text-ink-2">
        {creditsInWords(wanted.credits)}
        {isPlan ? ' every month' : ''}. {wanted.description}
      </p>
    </>
  );
}
