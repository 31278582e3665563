import { costMicros, rowOf } from '#services/models/catalogue/prices.ts';
import type { PriceRow } from '#services/models/catalogue/prices.ts';
import { settlement } from '#services/optimizations/council/settlement.ts';
import { hasNoDraft } from '#services/optimizations/run/events.ts';
import type { OptimizationEvent, Schedule } from '#services/optimizations/run/events.ts';
import { runEventOf } from '#services/optimizations/reading/read-run.ts';
import { compare, failed } from './check.ts';
import type { Check, Findings } from './check.ts';
import type { CreditEntry, StoredEvent } from './evidence.ts';

/** What the calls cost, and what the run was charged. */
export function moneyChecks(
  events: readonly StoredEvent[],
  credits: readonly CreditEntry[],
): Findings {
  const prices = storedPrices(events);
  return {
    checks: [
      ...(prices === undefined ? [] : costChecks(events, prices)),
      ...chargeChecks(events),
      ...ledgerChecks(events, credits),
    ],
    notes:
      prices === undefined && events.length > 0
        ? ['costs were not checked: prices not stored with this run']
        : [],
  };
}

/** Undefined in a run of v0.1, whose costs cannot be computed again. */
export function storedPrices([created]: readonly StoredEvent[]): Schedule['prices'] {
  const event = created && runEventOf(created);
  return event?.type === 'OptimizationCreated' ? event.data.schedule.prices : undefined;
}

/** The cost of each call that has a price, from its usage and the run's own price at its start. */
function costChecks(
  events: readonly StoredEvent[],
  prices: NonNullable<Schedule['prices']>,
): Check[] {
  const began = new Map<string, { model: string; at: string }>();
  const differences: Check[] = [];
  let recordedSum = 0;
  let recomputedSum = 0;
  for (const stored of events) {
    const event = runEventOf(stored);
    if (event.type === 'CallStarted')
      began.set(`${event.data.slot} ${event.data.attempt}`, {
        model: event.data.model,
        at: event.data.startedAt,
      });
    if (!isCallEnd(event)) continue;
    const call = `${event.data.slot} ${event.data.attempt}`;
    const start = began.get(call);
    const isPriced = (event.data.costSource ?? 'priced') === 'priced';
    const row = start ? rowOf(prices, start.model, start.at) : null;
    const priced = costMicros(event.data.usage, row);
    // A bill and a local call cannot be computed again.
    const cost = isPriced ? priced : event.data.costMicros;
    if (cost !== event.data.costMicros)
      differences.push(
        compare(`cost of ${call}`, event.data.costMicros, cost, stored, {
          ...micros,
          from: sourceOf(row),
        }),
      );
    recordedSum += event.data.costMicros ?? 0;
    recomputedSum += cost ?? 0;
  }
  return [...differences, compare('cost in micro-dollars', recordedSum, recomputedSum)];
}

const micros = { unit: 'micro-dollars' };
const inCredits = { unit: 'credits' };

function sourceOf(row: PriceRow | null): string {
  if (row === null) return 'because no price was in force';
  const { validFrom, readOn } = row;
  return `from the price row of ${validFrom?.slice(0, 10) ?? readOn}`;
}

export function isCallEnd(
  event: OptimizationEvent,
): event is Extract<
  OptimizationEvent,
  { type: 'CallSucceeded' | 'CallFailed' | 'CallCostRecorded' }
> {
  return (
    event.type === 'CallSucceeded' ||
    event.type === 'CallFailed' ||
    event.type === 'CallCostRecorded'
  );
}

/** Checks the conclusion's settlement, its count of started calls, and what was charged in the end. */
function chargeChecks(events: readonly StoredEvent[]): Check[] {
  const at = events.findIndex(({ type }) => type === 'RunConcluded');
  const concluded = events[at];
  const event = concluded && runEventOf(concluded);
  if (event?.type !== 'RunConcluded') return [];
  const { callsStarted, settlement: settled } = event.data;
  const started = events.slice(0, at).filter(({ type }) => type === 'CallStarted').length;
  return [
    compare('calls that were started', callsStarted, started, concluded),
    compare(
      'settlement',
      settled,
      settlement({ ...event.data, draftFailed: hasNoDraft(event.data) }),
      concluded,
    ),
    ...closingChecks(events, event.data),
  ];
}

type Conclusion = Extract<OptimizationEvent, { type: 'RunConcluded' }>['data'];

const closings: Readonly<Record<Conclusion['outcome'], OptimizationEvent['type']>> = {
  completed: 'OptimizationCompleted',
  cancelled: 'OptimizationCancelled',
  failed: 'OptimizationFailed',
  not_started: 'OptimizationFailed',
};

function closingChecks(
  events: readonly StoredEvent[],
  { outcome, settlement: settled }: Conclusion,
): Check[] {
  const { stored, closed } = closingOf(events);
  if (stored === null || closed === null) return [failed('end of the run', 'it was not closed')];
  const { captured, refunded, creditsVersion } = closed;
  // A draft that was canceled held nothing.
  const isHeld = settled.kind === 'capture' && creditsVersion > 0;
  const due = isHeld ? [settled.capture, settled.refund] : [0, 0];
  return [
    compare('end of the run', stored.type, closings[outcome], stored),
    compare('credits captured and returned', [captured, refunded], due, stored, inCredits),
  ];
}

type Closed = { captured: number; refunded: number; creditsVersion: number };

/** The event that closed the run; nulls while it is in progress. */
export function closingOf(
  events: readonly StoredEvent[],
): { stored: StoredEvent; closed: Closed } | { stored: null; closed: null } {
  const types: readonly string[] = Object.values(closings);
  const stored = events.find(({ type }) => types.includes(type));
  return stored === undefined
    ? { stored: null, closed: null }
    : { stored, closed: stored.data as Closed };
}

/** Compares the account's charge for the run with the run's own events. */
function ledgerChecks(events: readonly StoredEvent[], credits: readonly CreditEntry[]): Check[] {
  const { stored, closed } = closingOf(events);
  if (stored === null || closed === null) return [];
  const sum = (type: string) =>
    credits
      .filter((entry) => entry.type === type)
      .reduce((total, entry) => total + entry.credits, 0);
  const reserved = sum('CreditsReserved');
  const words = { ...inCredits, from: 'from the entries of the account' };
  // A draft that was canceled held nothing, or what its start held at the same moment and released.
  const due = closed.creditsVersion > 0 || reserved > 0 ? events[0]?.data['price'] : 0;
  return [
    compare('credits reserved', due, reserved, stored, words),
    compare('credits captured', closed.captured, sum('CreditsCaptured'), stored, words),
    compare('credits returned', closed.refunded, sum('CreditsReturned'), stored, words),
  ];
}
