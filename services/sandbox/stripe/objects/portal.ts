import type { Stripe } from 'stripe';
import * as v from 'valibot';
import { customerFor } from './customers.ts';
import { parametersOf, text } from '#services/sandbox/stripe/wire.ts';
import type { Params } from '#services/sandbox/stripe/wire.ts';
import type { World } from '#services/sandbox/stripe/world.ts';

const readNew = parametersOf<Stripe.BillingPortal.SessionCreateParams>()(
  { customer: text, return_url: v.optional(text) },
  ['configuration', 'locale'],
);

export function createPortal(world: World, given: Params): Stripe.BillingPortal.Session {
  const params = readNew(given);
  const customer = customerFor(world, params.customer);
  const id = world.store.newId('bps_');
  return world.store.put('portal', id, {
    id,
    object: 'billing_portal.session',
    configuration: 'bpc_sandbox',
    created: world.now(),
    customer: customer.id,
    customer_account: null,
    flow: null,
    livemode: false,
    locale: null,
    on_behalf_of: null,
    return_url: params.return_url ?? null,
    url: `${world.publicUrl}/dev/stripe/portal/${id}`,
  });
}
