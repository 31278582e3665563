import { useEffect } from 'react';

/**
 * The payment provider's own pages: checkout, cards and invoices. The server supplies their
 * addresses.
 */

/** The address when a browser may go there, else null: never `javascript:` or `data:`. */
export function providerAddress(named: string | null | undefined): string | null {
  if (!named || !URL.canParse(named)) return null;
  return /^https?:$/.test(new URL(named).protocol) ? named : null;
}

/**
 * Calls back when this page is shown again. A browser may restore it from its cache with a button
 * that is still busy.
 */
export function useComingBack(comeBack: () => void): void {
  useEffect(() => {
    const show = ({ persisted }: PageTransitionEvent): void => {
      if (persisted) comeBack();
    };
    addEventListener('pageshow', show);
    return () => removeEventListener('pageshow', show);
  }, [comeBack]);
}
