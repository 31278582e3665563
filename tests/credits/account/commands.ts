import { evolve, initialState } from '#services/credits/account/state.ts';
import type { AccountState } from '#services/credits/account/state.ts';
import { decide } from '#services/credits/account/account.ts';
import type { CreditCommand } from '#services/credits/account/account.ts';
import { Problem } from '#services/platform/problem.ts';
import type { CreditEvent } from '#services/credits/account/events.ts';

/** Commands with the usual values, and accounts after them. */

export function given(...commands: CreditCommand[]): AccountState {
  return andThen(initialState(), ...commands);
}

export function grant(lotId: string, credits: number, more: Partial<Grant> = {}): Grant {
  const source = more.source ?? 'other';
  return {
    type: 'Grant',
    lotId,
    credits,
    source,
    paidMinor: source === 'purchase' ? credits * 50 : null,
    currency: source === 'purchase' ? 'usd' : null,
    paymentKey: source === 'purchase' ? `pi:${lotId}` : null,
    ...(source === 'purchase' ? { purchaseId: `pur_${lotId}` } : {}),
    grantedAt: '2026-11-20T08:00:00.000Z',
    reason: 'operator',
    ...more,
  };
}
export type Grant = Extract<CreditCommand, { type: 'Grant' }>;

export function purchase(lotId: string, credits: number): Grant {
  return grant(lotId, credits, { source: 'purchase', reason: 'boost-50' });
}

export function reserve(
  runId: string,
  credits: number,
  limit = -1,
  month = '2026-11',
): CreditCommand {
  return { type: 'Reserve', runId, credits, month, limit };
}

export function capture(runId: string, credits: number, refund: number): CreditCommand {
  return { type: 'Settle', runId, settlement: { kind: 'capture', capture: credits, refund } };
}

export function release(runId: string): CreditCommand {
  return { type: 'Settle', runId, settlement: { kind: 'release' } };
}

/** A dispute over so many credits of the lot in total. */
export function dispute(
  lotId: string,
  wanted: number,
  more: Partial<SetClawback> = {},
): SetClawback {
  return { type: 'SetClawback', lotId, ref: 'dp_1', cause: 'dispute', wanted, owes: true, ...more };
}
export type SetClawback = Extract<CreditCommand, { type: 'SetClawback' }>;

/** The account after these commands too. */
export function andThen(state: AccountState, ...commands: CreditCommand[]): AccountState {
  return commands.reduce(
    (before, command) => decide(command, before).reduce<AccountState>(evolve, before),
    state,
  );
}

export function consume(credits: number): CreditCommand {
  return {
    type: 'Consume',
    consumptionId: 'con_1',
    credits,
    sealed: { note: 'v1.key.nonce.text' },
  };
}

export type RequestRefund = Extract<CreditCommand, { type: 'RequestRefund' }>;

export function askBack(
  refundId: string,
  lotId: string,
  more: Partial<RequestRefund> = {},
): RequestRefund {
  const requestedAt = '2026-11-20T09:00:00.000Z';
  return { type: 'RequestRefund', refundId, lotId, requestedAt, reason: 'customer', ...more };
}

export function endRefund(refundId: string, outcome: 'confirmed' | 'failed'): CreditCommand {
  const at = '2026-11-21T00:00:00.000Z';
  return { type: 'EndRefund', refundId, outcome, providerRefundId: 're_1', at };
}

/** The events without the balance that each carries. */
export function facts(events: readonly CreditEvent[]): unknown[] {
  return events.map(({ type, data }) => ({
    type,
    ...Object.fromEntries(Object.entries(data).filter(([name]) => name !== 'balance')),
  }));
}

export function refusal(command: CreditCommand, state: AccountState): Problem {
  try {
    decide(command, state);
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
  throw new Error('The command was not refused');
}
