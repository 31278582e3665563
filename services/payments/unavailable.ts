import { Problem } from '#services/platform/problem.ts';
import type { PaymentProvider } from './provider.ts';

/** Where there is no key: nothing can be bought, and each call says so. */
export const unavailableProvider: PaymentProvider = {
  createCustomer: refuse,
  findCustomers: refuse,
  deleteCustomer: refuse,
  createCheckout: refuse,
  retrieveCheckout: refuse,
  expireCheckout: refuse,
  createIntent: refuse,
  retrieveIntent: refuse,
  retrieveCharge: refuse,
  createRefund: refuse,
  retrieveRefund: refuse,
  listRefunds: refuse,
  retrieveInvoice: refuse,
  retrieveSubscription: refuse,
  changeSubscription: refuse,
  setCancelAtPeriodEnd: refuse,
  cancelSubscription: refuse,
  listSubscriptions: refuse,
  retrieveDispute: refuse,
  listDisputesOf: refuse,
  retrieveFraudWarning: refuse,
  createPortal: refuse,
  readWebhookEvent: refuse,
  listEvents: refuseList,
  listCharges: refuseList,
  listAllRefunds: refuseList,
  listInvoices: refuseList,
  listDisputes: refuseList,
  listBalanceTransactions: refuseList,
};

/** Of payments that cannot be made on this server at all. */
export function paymentsUnavailable(): Problem {
  return new Problem('payments-unavailable', 'Payments are not set up on this server.');
}

async function refuse(): Promise<never> {
  throw paymentsUnavailable();
}

// oxlint-disable-next-line require-yield -- a list that is refused has no first item
async function* refuseList(): AsyncGenerator<never> {
  throw paymentsUnavailable();
}
