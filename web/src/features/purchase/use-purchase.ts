import { useCallback, useRef, useState } from 'react';
import { useComingBack } from '#web/app/provider-page.ts';
import { openCheckout } from './queries.ts';
import { type Refusal, refusalOf } from './refusal.ts';

export type Purchase = {
  /** The package whose payment page is being opened. */
  readonly busy: string | null;
  readonly refusal: (Refusal & { readonly packageId: string }) | null;
  readonly buy: (packageId: string) => void;
};

/**
 * Leaves for the provider's page of a package. Every press has its own key, and only one runs at a
 * time. A page that is left stays busy until it is shown again.
 */
export function usePurchase({ onRefused }: { onRefused: (refusal: Refusal) => void }): Purchase {
  const [busy, setBusy] = useState<string | null>(null);
  const [refusal, setRefusal] = useState<Purchase['refusal']>(null);
  // The second half of a double click comes before the button is drawn as busy.
  const isBusy = useRef(false);
  const rest = useCallback((): void => {
    isBusy.current = false;
    setBusy(null);
  }, []);
  useComingBack(rest);
  const open = async (packageId: string): Promise<void> => {
    setRefusal(null);
    setBusy(packageId);
    try {
      location.assign(await openCheckout(packageId, crypto.randomUUID()));
    } catch (error) {
      const found = refusalOf(error);
      rest();
      setRefusal({ ...found, packageId });
      onRefused(found);
    }
  };
  return {
    busy,
    refusal,
    buy: (packageId) => {
      if (isBusy.current) return;
      isBusy.current = true;
      void open(packageId);
    },
  };
}
