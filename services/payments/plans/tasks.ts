import type { TaskList } from 'graphile-worker';
import * as v from 'valibot';
import type { PaymentDependencies } from '#services/payments/dependencies.ts';
import { mailLowBalance } from '#services/payments/emails/low-balance.ts';

const PersonPayload = v.object({ userId: v.string() });

/** Each may run twice or be killed anywhere. */
export function planTasks(dependencies: PaymentDependencies): TaskList {
  return {
    'mail-low-balance': async (payload) =>
      mailLowBalance(dependencies, v.parse(PersonPayload, payload)),
  };
}
