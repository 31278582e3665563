import { html } from 'hono/html';
import type { Stripe } from 'stripe';
import type { Html } from '#services/platform/http/page-frame.ts';
import { mustId } from '#services/sandbox/stripe/objects/customers.ts';
import type { FakeStripe } from '#services/sandbox/stripe/fake-stripe.ts';
import { act, money, sandboxNote, time } from './words.ts';
import { itemOf } from '#services/sandbox/stripe/objects/subscriptions.ts';
import { daySeconds } from '#services/sandbox/stripe/world.ts';
import type { World } from '#services/sandbox/stripe/world.ts';

/** Here a developer plays every role except the payer. */

/** How many of each kind are shown, newest first. */
const shown = 30;

export function controlPage(fake: FakeStripe): Html {
  const { world } = fake;
  const waiting = fake.pendingWebhookEvents().length;
  return html`${sandboxNote}
    <h1>Payments</h1>
    <p>
      No payment provider key is set, so every payment lands here. You play the bank, the card
      network, and the clock.
    </p>
    <h2>Time</h2>
    <p>
      It is ${time(world.now())} here.
      ${waiting === 0 ? 'Every event was delivered.' : `${waiting} events waiting to be delivered.`}
    </p>
    <div class="acts">
      ${act('clock', 'Skip one hour', { advance: '3600' })}
      ${act('clock', 'Skip one day', { advance: String(daySeconds) })}
      ${act('clock', 'Skip one week', { advance: String(7 * daySeconds) })}
      ${act('clock', 'Skip one month', { advance: String(31 * daySeconds) })}
    </div>
    <p>
      This moves only the payment provider's clock. The app's own clock, which times the 30-day
      refund window, doesn't change.
    </p>
    ${section('Open checkouts', opened(world), 'No open checkouts.')}
    ${section('Plans', newest(world.store.all('subscription')).map(planRow(world)), 'No plans yet.')}
    ${section('Payments', newest(world.store.all('charge')).map(chargeRow), 'No payments yet.')}
    ${section('Refunds', newest(world.store.all('refund')).map(refundRow), 'No refunds yet.')}
    ${section('Disputes', newest(world.store.all('dispute')).map(disputeRow), 'No disputes yet.')}
    <h2>Trouble</h2>
    <p>${troubleOf(fake)}</p>
    <div class="acts">
      ${act('faults', 'Refunds succeed', { refunds: 'succeeded' })}
      ${act('faults', 'Refunds stay pending', { refunds: 'pending' })}
      ${act('faults', 'Refunds fail', { refunds: 'failed' })}
      ${act('faults', 'Deliver everything twice', { duplicate: '1' })}
      ${act('faults', 'Deliver everything once', { duplicate: '0' })}
      ${act('faults', 'Lose the next 5 events', { drop: '5' })}
      ${act('faults', 'Next call: succeed, then return 500', { failAfterCommit: '1' })}
      ${act('payouts', 'Pay out the balance')}
    </div>`;
}

function section(title: string, rows: readonly Html[], empty: string): Html {
  return html`<h2>${title}</h2>
    ${
      rows.length === 0
        ? html`<p class="empty">${empty}</p>`
        : html`<ul class="rows">
            ${rows}
          </ul>`
    }`;
}

function newest<T>(rows: readonly T[]): T[] {
  return rows.slice(-shown).toReversed();
}

function row(title: string, state: string, id: string, more: Html | string, acts: Html[]): Html {
  return html`<li class="row">
    <h3><span>${title}</span> <span>${state}</span></h3>
    <p>${more}</p>
    <p><code>${id}</code></p>
    ${
      acts.length === 0
        ? ''
        : html`<div class="acts" role="group" aria-label="${title}, ${id}">${acts}</div>`
    }
  </li>`;
}

function opened(world: World): Html[] {
  const sessions = world.store
    .all('session')
    .filter(({ id, status }) => status === 'open' || isWaiting(world, id));
  return newest(sessions).map((session) => {
    const who = session.customer_details?.email ?? 'unknown';
    const title = money(session.amount_total, session.currency);
    if (session.status !== 'open')
      return row(title, 'waiting for the bank', session.id, who, [
        act(`later/${session.id}`, 'The bank pays', { outcome: 'paid' }),
        act(`later/${session.id}`, 'The bank declines', { outcome: 'failed' }),
      ]);
    const link = html`${who}, until ${time(session.expires_at)}.
      <a href="/dev/stripe/checkout/${session.id}">Open checkout</a>`;
    return row(title, 'open', session.id, link, []);
  });
}

function isWaiting(world: World, sessionId: string): boolean {
  return (world.store.get('sessionDetails', sessionId)?.settlesAt ?? null) !== null;
}

function planRow(world: World): (plan: Stripe.Subscription) => Html {
  return (plan) => {
    const { price, current_period_end: end } = itemOf(plan);
    const name = world.store.get('product', mustId(price.product))?.name ?? 'Plan';
    const title = `${name}, ${money(price.unit_amount, price.currency)}`;
    if (plan.ended_at !== null)
      return row(title, plan.status, plan.id, html`Ended ${time(plan.ended_at)}`, []);
    const untilRenewal = Math.max(1, end - world.now());
    return row(
      title,
      plan.status,
      plan.id,
      html`${plan.cancel_at_period_end ? 'Ends' : 'Renews'} ${time(end)}`,
      [
        act('clock', 'Skip to the next renewal', { advance: String(untilRenewal) }),
        act(`subscriptions/${plan.id}/failures`, 'Next payment fails', { tries: '1' }),
        act(`subscriptions/${plan.id}/failures`, 'All payments fail', { tries: '4' }),
      ],
    );
  };
}

function chargeRow(charge: Stripe.Charge): Html {
  const rest = charge.amount - charge.amount_refunded;
  const title = `${money(charge.amount, charge.currency)}, ${charge.billing_details.email ?? 'unknown'}`;
  const isPaid = charge.status === 'succeeded';
  const refunded =
    charge.amount_refunded === 0
      ? ''
      : html`, ${money(charge.amount_refunded, charge.currency)} of it refunded`;
  return row(
    title,
    charge.disputed ? 'disputed' : charge.status,
    charge.id,
    html`${time(charge.created)}${refunded}`,
    isPaid
      ? [
          ...(charge.disputed
            ? []
            : [
                act('disputes', 'Dispute', { payment: charge.id }),
                act('disputes', 'Inquiry', { payment: charge.id, inquiry: 'true' }),
              ]),
          act('fraud-warnings', 'Fraud warning', { payment: charge.id }),
          ...(rest > 0 ? [bankRefund(charge, rest)] : []),
        ]
      : [],
  );
}

function bankRefund(charge: Stripe.Charge, rest: number): Html {
  const field = `amount-${charge.id}`;
  return html`<form method="post" action="/dev/stripe/bank-refunds">
    <input type="hidden" name="payment" value="${charge.id}" />
    <label for="${field}">Cents</label>
    <input
      id="${field}"
      name="amount"
      inputmode="numeric"
      pattern="[0-9]+"
      required
      value="${rest}"
      autocomplete="off"
    />
    <button type="submit" class="second">Bank refund</button>
  </form>`;
}

function refundRow(refund: Stripe.Refund): Html {
  const isOpen = refund.status === 'pending';
  const isDone = refund.status === 'succeeded';
  return row(
    money(refund.amount, refund.currency),
    refund.status ?? 'unknown',
    refund.id,
    time(refund.created),
    [
      ...(isOpen ? [act(`refunds/${refund.id}`, 'It succeeds', { outcome: 'succeeded' })] : []),
      ...(isOpen || isDone ? [act(`refunds/${refund.id}`, 'It fails', { outcome: 'failed' })] : []),
    ],
  );
}

function disputeRow(dispute: Stripe.Dispute): Html {
  const move = (to: string, label: string) => act(`disputes/${dispute.id}`, label, { move: to });
  const isInquiry = dispute.status.startsWith('warning_');
  const isOpen = !['won', 'lost', 'warning_closed'].includes(dispute.status);
  const moves = isInquiry
    ? [move('needs_response', 'It becomes a dispute'), move('warning_closed', 'Close it')]
    : [move('won', 'We win'), move('lost', 'We lose')];
  return row(
    money(dispute.amount, dispute.currency),
    dispute.status.replaceAll('_', ' '),
    dispute.id,
    html`${time(dispute.created)}, of <code>${mustId(dispute.charge)}</code>`,
    isOpen ? moves : [],
  );
}

function troubleOf({ faults }: FakeStripe): string {
  const active = Object.entries(faults).flatMap(([name, value]) =>
    typeof value === 'number' || typeof value === 'string' || value === true
      ? [`${name}: ${String(value)}`]
      : [],
  );
  return active.length === 0 ? 'None.' : active.join(', ');
}
