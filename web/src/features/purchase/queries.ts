import { queryOptions } from '@tanstack/react-query';
import * as v from 'valibot';
import { CheckoutState, Package } from '#services/payments/contract.ts';
import { read, write } from '#web/api/api.ts';
import { providerAddress } from '#web/app/provider-page.ts';

export const packagesQuery = queryOptions({
  queryKey: ['packages'],
  queryFn: ({ signal }) => read('/credits/packages', v.array(Package), { signal }),
  staleTime: 300_000,
});

/** Milliseconds between two polls of an undecided payment, at first and later. */
const askAgainMs = { first: 3_000, later: 15_000 } as const;
const firstQuestions = 20;

/**
 * The outcome of a checkout. It is cached below the ledger's key, so that each change of the
 * balance polls at once; a timer polls as long as the payment is undecided.
 */
export function checkoutQuery(sessionId: string) {
  return queryOptions({
    queryKey: ['credits', 'checkout', sessionId],
    queryFn: ({ signal }) =>
      read(`/credits/checkout-sessions/${encodeURIComponent(sessionId)}`, CheckoutState, {
        signal,
      }),
    refetchInterval: ({ state }) => {
      const isUndecided = state.data?.status === 'open' || state.data?.status === 'processing';
      if (!isUndecided) return false;
      return state.dataUpdateCount < firstQuestions ? askAgainMs.first : askAgainMs.later;
    },
  });
}

/** Only what this page needs of the reply: a missing address has a sentence of its own. */
const Address = v.object({ checkout_url: v.optional(v.nullable(v.string())) });

export class NoCheckoutAddress extends Error {
  override readonly name = 'NoCheckoutAddress';
  constructor() {
    super('No checkout URL received from server');
  }
}

/** Returns the address of the provider's page. `key` identifies one press of the button. */
export async function openCheckout(packageId: string, key: string): Promise<string> {
  const { origin } = location;
  const request = {
    package_id: packageId,
    success_url: `${origin}/credits/success`,
    cancel_url: `${origin}/credits/purchase?cancelled=${encodeURIComponent(packageId)}`,
  };
  const reply = await write('POST', '/credits/create-checkout-session', request, Address, { key });
  const address = providerAddress(reply.checkout_url);
  if (address === null) throw new NoCheckoutAddress();
  return address;
}
