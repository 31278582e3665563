import { packageOf } from '#services/payments/catalogue.ts';
import type { Package } from '#services/payments/contract.ts';
import type { InvoiceView } from '#services/payments/provider.ts';

/**
 * What a paid invoice of a plan grants, or why it grants nothing. Settlement and reconciliation share
 * this rule, so that they cannot disagree.
 */
export type InvoiceGrant = { grants: Package; period: Period } | NoGrant;

/** It is for another reason than a new period, at a price that is not ours, or not as agreed. */
export type NoGrant =
  | { grants: null; because: 'reason' | 'price' }
  | { grants: null; because: 'amount'; agreed: NonNullable<InvoiceView['agreed']> };

export type Period = NonNullable<InvoiceView['period']>;

/** Every other reason, such as a change in the middle of a period, grants nothing. */
const grantingReasons: ReadonlySet<string> = new Set(['subscription_create', 'subscription_cycle']);

/**
 * The invoice's own price counts and not today's catalogue: a plan keeps the price that it began with.
 * It is compared without tax and before discounts, which only operators give.
 */
export function grantOf(invoice: InvoiceView): InvoiceGrant {
  const { subscriptionId, reason, packageId, agreed, period, subtotalMinor, currency } = invoice;
  if (subscriptionId === null || !grantingReasons.has(reason))
    return { grants: null, because: 'reason' };
  const bought = packageOf(packageId ?? '');
  if (bought?.kind !== 'monthly' || agreed === null || period === null)
    return { grants: null, because: 'price' };
  const isAgreed = subtotalMinor === agreed.amountMinor && currency === agreed.currency;
  return isAgreed ? { grants: bought, period } : { grants: null, because: 'amount', agreed };
}
