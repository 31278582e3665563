import * as balance from './objects/balance.ts';
import * as catalogue from './objects/catalogue.ts';
import * as checkout from './objects/checkout.ts';
import * as customers from './objects/customers.ts';
import * as disputes from './objects/disputes.ts';
import * as events from './events.ts';
import * as invoices from './objects/invoices.ts';
import * as payments from './objects/payments.ts';
import { createPortal } from './objects/portal.ts';
import * as refunds from './objects/refunds.ts';
import * as subscriptions from './objects/subscriptions.ts';
import type { StoredObject } from './store.ts';
import type { Params } from './wire.ts';
import { WireError } from './wire.ts';
import type { World } from './world.ts';

/** The calls of the fake. A refusal that is returned, not thrown, keeps its changes. */
type Handler = (world: World, params: Params, id: string) => unknown;

const handlers: Readonly<Record<string, Handler>> = {
  'POST customers': customers.createCustomer,
  'GET customers': customers.listCustomers,
  'GET customers/:id': (world, _, id) => customers.retrieveCustomer(world, id),
  'POST customers/:id': (world, params, id) => customers.updateCustomer(world, id, params),
  'DELETE customers/:id': (world, _, id) => customers.deleteCustomer(world, id),

  'POST products': catalogue.createProduct,
  'GET products': catalogue.listProducts,
  'GET products/:id': (world, _, id) => catalogue.retrieveProduct(world, id),
  'POST products/:id': (world, params, id) => catalogue.updateProduct(world, id, params),
  'POST prices': catalogue.createPrice,
  'GET prices': catalogue.listPrices,
  'GET prices/:id': (world, _, id) => catalogue.retrievePrice(world, id),
  'POST prices/:id': (world, params, id) => catalogue.updatePrice(world, id, params),

  'POST checkout/sessions': checkout.createSession,
  'GET checkout/sessions': checkout.listSessions,
  'GET checkout/sessions/:id': (world, _, id) => checkout.retrieveSession(world, id),
  'POST checkout/sessions/:id/expire': (world, _, id) => checkout.expireSession(world, id),
  'GET checkout/sessions/:id/line_items': (world, params, id) =>
    checkout.listLines(world, id, params),

  'POST payment_intents': payments.createIntent,
  'GET payment_intents': payments.listIntents,
  'GET payment_intents/:id': (world, _, id) => payments.retrieveIntent(world, id),
  'POST payment_intents/:id/confirm': (world, params, id) =>
    payments.confirmIntent(world, id, params),
  'POST payment_intents/:id/cancel': (world, params, id) =>
    payments.cancelIntent(world, id, params),
  'GET charges': payments.listCharges,
  'GET charges/:id': (world, _, id) => payments.chargeOf(world, id),

  'POST refunds': refunds.createRefund,
  'GET refunds': refunds.listRefunds,
  'GET refunds/:id': (world, _, id) => refunds.retrieveRefund(world, id),
  'POST refunds/:id': (world, params, id) => refunds.updateRefund(world, id, params),
  'POST refunds/:id/cancel': (world, _, id) => refunds.cancelRefund(world, id),

  'GET disputes': disputes.listDisputes,
  'GET disputes/:id': (world, _, id) => disputes.retrieveDispute(world, id),
  'POST disputes/:id/close': (world, _, id) => disputes.moveDispute(world, id, 'lost'),
  'GET radar/early_fraud_warnings': disputes.listWarnings,
  'GET radar/early_fraud_warnings/:id': (world, _, id) => disputes.retrieveWarning(world, id),

  'GET subscriptions': subscriptions.listSubscriptions,
  'GET subscriptions/:id': (world, _, id) => subscriptions.retrieveSubscription(world, id),
  'POST subscriptions/:id': (world, params, id) =>
    subscriptions.updateSubscription(world, id, params),
  'DELETE subscriptions/:id': (world, params, id) =>
    subscriptions.cancelSubscription(world, id, params),
  'GET invoices': invoices.listInvoices,
  'GET invoices/:id': (world, _, id) => invoices.retrieveInvoice(world, id),
  'GET invoice_payments': invoices.listInvoicePayments,
  'GET invoice_payments/:id': (world, _, id) => invoices.retrieveInvoicePayment(world, id),

  'GET balance_transactions': balance.listTransactions,
  'GET balance_transactions/:id': (world, _, id) => balance.retrieveTransaction(world, id),
  'GET payouts': balance.listPayouts,
  'GET payouts/:id': (world, _, id) => balance.retrievePayout(world, id),

  'POST billing_portal/sessions': createPortal,

  'GET events': events.listEvents,
  'GET events/:id': (world, _, id) => events.retrieveEvent(world, id),
};

const patterns = Object.entries(handlers).map(([name, handle]) => {
  const [method = '', path = ''] = name.split(' ');
  const expression = new RegExp(`^/v1/${path.replace(':id', '([\\w-]{1,255})')}/?$`);
  return { method, expression, handle };
});

/** What answers a call. @throws WireError 404 as the real one for addresses that it does not know */
export function routeOf(method: string, path: string): (world: World, params: Params) => unknown {
  for (const pattern of patterns) {
    const match = pattern.method === method ? pattern.expression.exec(path) : null;
    if (match !== null) return (world, params) => pattern.handle(world, params, match[1] ?? '');
  }
  throw new WireError(
    404,
    'invalid_request_error',
    `Unrecognized request URL (${method}: ${path.slice(0, 200)}). Please see https://stripe.com/docs or we can help at https://support.stripe.com/.`,
  );
}

/** Members that are there only when `expand[]` names them. */
export function includedOf(world: World) {
  return (object: StoredObject, name: string): unknown => {
    if (!('object' in object)) return undefined;
    const url = (path: string) => ({ object: 'list', has_more: false, url: path });
    if (object.object === 'checkout.session' && name === 'line_items')
      return {
        ...url(`/v1/checkout/sessions/${object.id}/line_items`),
        data: checkout.detailsOf(world, object.id).lines,
      };
    if (object.object === 'invoice' && name === 'payments')
      return {
        ...url(`/v1/invoice_payments?invoice=${object.id}`),
        data: invoices.paymentsOf(world, object.id),
      };
    if (object.object === 'charge' && name === 'refunds')
      return {
        ...url(`/v1/charges/${object.id}/refunds`),
        data: world.store.all('refund').filter(({ charge }) => charge === object.id),
      };
    if (object.object === 'customer' && name === 'subscriptions')
      return {
        ...url(`/v1/customers/${object.id}/subscriptions`),
        data: world.store.all('subscription').filter(({ customer }) => customer === object.id),
      };
    return undefined;
  };
}
