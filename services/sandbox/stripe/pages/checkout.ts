import { html } from 'hono/html';
import type { Stripe } from 'stripe';
import type { Html } from '#services/platform/http/page-frame.ts';
import { detailsOf, sessionEmail } from '#services/sandbox/stripe/objects/checkout.ts';
import { act, money, sandboxNote } from './words.ts';
import type { World } from '#services/sandbox/stripe/world.ts';

/** The page on which the payer pays, or does not. Plain HTML, so that it works everywhere. */
export function checkoutPage(
  world: World,
  session: Stripe.Checkout.Session,
): { title: string; main: Html } {
  const { lines, decline } = detailsOf(world, session.id);
  const name = lines.map(({ description }) => description ?? 'Product').join(', ');
  const total = money(session.amount_total, session.currency);
  const tax = session.total_details?.amount_tax ?? 0;
  const isOpen = session.status === 'open';
  const main = html`<div class="narrow">
    ${sandboxNote}
    <h1>${isOpen ? html`Pay for ${name}` : name}</h1>
    ${decline === null || !isOpen ? '' : html`<p class="alert" role="alert">${decline} Try again or leave.</p>`}
    <section class="card" aria-label="Your order">
      <p class="price">${total}</p>
      <p class="quiet">${rhythmOf(session, lines)}</p>
      <dl class="figures">
        ${
          tax === 0
            ? ''
            : html`<dt>Before tax</dt>
                <dd>${money(session.amount_subtotal, session.currency)}</dd>
                <dt>Tax</dt>
                <dd>${money(tax, session.currency)}</dd>`
        }
        <dt>E-mail</dt>
        <dd>${sessionEmail(world, session) ?? 'none'}</dd>
      </dl>
    </section>
    ${isOpen ? choices(session, total) : ended(session)}
  </div>`;
  return { title: isOpen ? `Pay for ${name}` : name, main };
}

function rhythmOf(session: Stripe.Checkout.Session, lines: readonly Stripe.LineItem[]): string {
  if (session.mode !== 'subscription') return 'One-time payment';
  const { interval = 'month', interval_count: every = 1 } = lines[0]?.price?.recurring ?? {};
  if (every === 1 && interval === 'month') return 'Monthly, until you cancel';
  return every === 1
    ? `Every ${interval}, until you cancel`
    : `Every ${every} ${interval}s, until you cancel`;
}

function choices(session: Stripe.Checkout.Session, total: string): Html {
  const at = (outcome: string) => `checkout/${session.id}/${outcome}`;
  return html`<div class="choices">
    ${act(at('pay'), `Pay ${total}`, {}, 'first')}
    ${act(at('pay-later'), 'Pay later (bank confirms)')} ${act(at('decline'), 'Decline card')}
    ${act(at('abandon'), 'Abandon and go back')}
  </div>`;
}

/** The outcome, and the link back. */
function ended(session: Stripe.Checkout.Session): Html {
  const back = session.status === 'complete' ? session.success_url : session.cancel_url;
  const address = back?.replaceAll('{CHECKOUT_SESSION_ID}', session.id) ?? null;
  return html`<p role="status">${endOf(session)}</p>
    ${address === null ? '' : html`<p><a href="${address}">Go back</a></p>`}`;
}

function endOf(session: Stripe.Checkout.Session): string {
  if (session.status === 'expired') return "This checkout has expired. You weren't charged.";
  return session.payment_status === 'paid'
    ? 'This checkout is paid.'
    : "This checkout is done. The bank hasn't confirmed the payment yet.";
}
