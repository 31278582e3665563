import { html } from 'hono/html';
import type { Stripe } from 'stripe';
import type { Html } from '#services/platform/http/page-frame.ts';
import { mustId } from '#services/sandbox/stripe/objects/customers.ts';
import { retrieveInvoice } from '#services/sandbox/stripe/objects/invoices.ts';
import { act, money, sandboxNote, time } from './words.ts';
import { chargeOf } from '#services/sandbox/stripe/objects/payments.ts';
import { itemOf } from '#services/sandbox/stripe/objects/subscriptions.ts';
import { missing } from '#services/sandbox/stripe/wire.ts';
import type { World } from '#services/sandbox/stripe/world.ts';

/** Receipts, invoices, and the page of a plan. */

export function receiptPage(world: World, chargeId: string): Html {
  const charge = chargeOf(world, chargeId);
  return html`<div class="narrow">
    ${sandboxNote}
    <h1>Receipt</h1>
    <section class="card">
      <p class="price">${money(charge.amount, charge.currency)}</p>
      <dl class="figures">
        <dt>Paid</dt>
        <dd>${time(charge.created)}</dd>
        <dt>By</dt>
        <dd>${charge.billing_details.email ?? 'unknown'}</dd>
        ${
          charge.amount_refunded === 0
            ? ''
            : html`<dt>Refunded</dt>
                <dd>${money(charge.amount_refunded, charge.currency)}</dd>`
        }
        <dt>Number</dt>
        <dd><code>${charge.id}</code></dd>
      </dl>
    </section>
  </div>`;
}

export function invoicePage(world: World, invoiceId: string): Html {
  const invoice = retrieveInvoice(world, invoiceId);
  return html`<div class="narrow">
    ${sandboxNote}
    <h1>Invoice ${invoice.number}</h1>
    <section class="card">
      <p class="price">${money(invoice.total, invoice.currency)}</p>
      <p class="quiet">${invoice.status}</p>
      <dl class="figures">
        ${invoice.lines.data.map(
          (line) =>
            html`<dt>${line.description}</dt>
              <dd>${money(line.amount, line.currency)}</dd>`,
        )}
        <dt>Date</dt>
        <dd>${time(invoice.created)}</dd>
        <dt>To</dt>
        <dd>${invoice.customer_email ?? 'unknown'}</dd>
      </dl>
    </section>
  </div>`;
}

export function portalPage(world: World, portalId: string): Html {
  const portal = world.store.get('portal', portalId);
  if (portal === null) throw missing('billing_portal.session', portalId);
  const belongs = ({ customer }: { customer: unknown }) => customer === portal.customer;
  const plans = world.store.all('subscription').filter(belongs);
  const invoices = world.store.all('invoice').filter(belongs).toReversed();
  return html`<div class="narrow">
    ${sandboxNote}
    <h1>Your plan</h1>
    ${plans.length === 0 ? html`<p class="empty">No plan.</p>` : ''}
    ${plans.toReversed().map((plan) => planCard(world, portal, plan))}
    <h2>Invoices</h2>
    ${
      invoices.length === 0
        ? html`<p class="empty">No invoice yet.</p>`
        : html`<ul>
            ${invoices.map(
              (invoice) =>
                html`<li>
                  <a href="/dev/stripe/invoices/${invoice.id}">${invoice.number}</a>
                  ${money(invoice.total, invoice.currency)}, ${invoice.status}
                </li>`,
            )}
          </ul>`
    }
    ${portal.return_url === null ? '' : html`<p><a href="${portal.return_url}">Go back</a></p>`}
  </div>`;
}

function planCard(
  world: World,
  portal: Stripe.BillingPortal.Session,
  plan: Stripe.Subscription,
): Html {
  const { price, current_period_end: end } = itemOf(plan);
  const name = world.store.get('product', mustId(price.product))?.name ?? 'Plan';
  const isOver = plan.ended_at !== null;
  return html`<section class="card" aria-label="${name}">
    <p class="price">${money(price.unit_amount, price.currency)}</p>
    <p class="quiet">${name}, every ${price.recurring?.interval ?? 'month'}, ${plan.status}</p>
    ${
      isOver
        ? ''
        : html`<p>${plan.cancel_at_period_end ? 'Ends' : 'Renews'} ${time(end)}</p>
            <div class="acts">
              ${
                plan.cancel_at_period_end
                  ? act(`portal/${portal.id}/resume`, 'Keep the plan')
                  : act(`portal/${portal.id}/cancel`, 'Cancel at the end of the period')
              }
            </div>`
    }
  </section>`;
}
