import { useEffect } from 'react';

/**
 * The payment provider's own pages: checkout, cards and invoices. The server names their addresses,
 * and a person leaves this site for them.
 */

/** The address when a browser may be sent to it, else null: never a `javascript:` or a `data:` one. */
export function providerAddress(named: string | null | undefined): string | null {
  if (!named || !URL.canParse(named)) return null;
  return /^https?:$/.test(new URL(named).protocol) ? named : null;
}

/**
 * Calls back when this page is shown again after somebody was away: a browser may bring it back from
 * its memory as it was left, with a button that still waits.
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
