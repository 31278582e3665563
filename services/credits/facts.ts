import type { RecordedEvent } from '#db/event-store.ts';
import type { StreamFacts } from '#services/live/hub.ts';
import type { AccountBalance, CreditEvent, CreditEventType } from './account.ts';
import type { Balance } from './contract.ts';
import { userOf } from './streams.ts';

/** Every event of an account carries the balance after it: absolute figures, from one event. */
export function creditFacts(recorded: RecordedEvent): StreamFacts {
  const data = recorded.data as CreditEvent['data'];
  return {
    type: recorded.type as CreditEventType,
    at: String(recorded.metadata['occurredAt']),
    general: {
      entity: { kind: 'account', id: userOf(recorded.streamId) },
      patch: describeBalance(data.balance),
    },
    watched: null,
  };
}

export function describeBalance(balance: AccountBalance): Balance {
  return {
    available_credits: balance.available,
    reserved_credits: balance.held,
    debt_credits: balance.debt,
    total_purchased: balance.purchased,
    total_consumed: balance.consumed,
    total_credits: balance.purchased + balance.bonus + balance.other,
    used_credits: balance.consumed,
  };
}
