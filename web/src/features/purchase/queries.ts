import { queryOptions } from '@tanstack/react-query';
import * as v from 'valibot';
import { CheckoutState, Package } from '#services/payments/contract.ts';
import { read, write } from '#web/api/api.ts';
import { providerAddress } from '#web/app/provider-page.ts';

/** What can be bought. */
export const packagesQuery = queryOptions({
  queryKey: ['packages'],
  queryFn: ({ signal }) => read('/credits/packages', v.array(Package), { signal }),
  staleTime: 300_000,
});

/** Milliseconds between two questions about a payment that is not decided, at first and later. */
const askAgainMs = { first: 3_000, later: 15_000 } as const;
const firstQuestions = 20;

/**
 * What became of a checkout. Below the key of everything that follows from the ledger, so that each
 * change of the balance asks at once; the clock asks too, as long as a payment is not decided.
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

/** Only what this page needs of the reply: without an address there is a sentence of its own. */
const Address = v.object({ checkout_url: v.optional(v.nullable(v.string())) });

export class NoCheckoutAddress extends Error {
  override readonly name = 'NoCheckoutAddress';
  constructor() {
    super('No checkout URL received from server');
  }
}

/** Answers the address of the provider's page. `key` stands for one press of the button. */
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
