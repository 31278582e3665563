import type { StreamFacts } from '#services/live/hub.ts';
import { balanceOf } from '#projections/credit-account.ts';
import type { RecordedEvent } from '#db/recorded-event.ts';
import type { CreditEvent, CreditEventType } from './account/events.ts';
import { userOf } from './account/events.ts';

/** Every event carries the resulting balance, so one event is enough for absolute figures. */
export function creditFacts(recorded: RecordedEvent): StreamFacts {
  const data = recorded.data as CreditEvent['data'];
  return {
    type: recorded.type as CreditEventType,
    at: String(recorded.metadata['occurredAt']),
    general: {
      entity: { kind: 'account', id: userOf(recorded.streamId) },
      patch: balanceOf(data.balance),
    },
    watched: null,
  };
}
