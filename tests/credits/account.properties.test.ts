import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { balanceChange, evolve, initialState, unpaidClaims } from '#services/credits/account.ts';
import type { AccountState, CreditCommand, CreditEvent } from '#services/credits/account.ts';
import { postings } from '#services/credits/postings.ts';
import { unsoundness } from '#services/credits/soundness.ts';
import { fingerprintOf } from '#services/credits/streams.ts';
import {
  anyLimit,
  anySteps,
  createBus,
  drawnOneByOne,
  play,
  returnedOneByOne,
  roundTrip,
  runId,
} from './ledger-model.ts';
import type { Played } from './ledger-model.ts';

const runs = { numRuns: 400 };

/** The account after each event, with the event. */
function prefixes(log: readonly CreditEvent[]): { event: CreditEvent; state: AccountState }[] {
  let state = initialState();
  return log.map((event) => {
    state = evolve(state, event);
    return { event, state };
  });
}

function forRandomLedgers(check: (played: Played[], log: readonly CreditEvent[]) => void): void {
  fc.assert(
    fc.property(anySteps, anyLimit, (steps, limit) => {
      const bus = createBus();
      check(play(steps, limit, bus), bus.log);
    }),
    runs,
  );
}

/** The events of these types. */
function of<Type extends CreditEvent['type']>(events: readonly CreditEvent[], ...types: Type[]) {
  return events.filter((event): event is Extract<CreditEvent, { type: Type }> =>
    types.some((type) => type === event.type),
  );
}

/** A repeat from last month counts in this one: the account's months only go forward. */
function monthOf(command: { month: string }, state: AccountState): string {
  return command.month > state.month.month ? command.month : state.month.month;
}

/** Accepted for the first time, with its events. */
function accepted<Type extends CreditCommand['type']>(played: readonly Played[], type: Type) {
  return played.flatMap(({ sent, answer, before, after }) =>
    sent?.command.type === type && answer?.kind === 'done' && !answer.repeated
      ? [
          {
            command: sent.command as Extract<CreditCommand, { type: Type }>,
            events: answer.events,
            before,
            after,
          },
        ]
      : [],
  );
}

function refused(played: readonly Played[], code: string) {
  return played.flatMap(({ sent, answer, before }) =>
    sent && answer?.kind === 'refused' && answer.code === code ? [{ sent, before }] : [],
  );
}

function paidByBonus(before: AccountState, events: readonly CreditEvent[]): boolean {
  const bonus = new Set(
    before.lots.filter((lot) => lot.source === 'bonus').map((lot) => lot.lotId),
  );
  return of(events, 'CreditsReserved').some(({ data }) =>
    data.allocations.some((share) => bonus.has(share.lotId)),
  );
}

describe('a random ledger', () => {
  test('moves whole credits from account to account: each transaction sums to 0', () => {
    forRandomLedgers((_, log) => {
      for (const event of log) {
        const lines = postings(event);
        expect(lines.every(({ credits }) => Number.isSafeInteger(credits))).toBe(true);
        expect(lines.reduce((sum, { credits }) => sum + credits, 0)).toBe(0);
        expect(event.data.credits).toBeGreaterThanOrEqual(1);
      }
    });
  });

  test('is never negative, after no event of it', () => {
    forRandomLedgers((_, log) => {
      for (const { state } of prefixes(log)) {
        expect(state.balance.available).toBeGreaterThanOrEqual(0);
        expect(state.balance.held).toBeGreaterThanOrEqual(0);
        expect(state.balance.debt).toBeGreaterThanOrEqual(0);
        expect(state.balance.revoked).toBeGreaterThanOrEqual(0);
      }
    });
  });

  test('accounts for every granted credit, lot by lot, after every event', () => {
    forRandomLedgers((played, log) => {
      for (const { state } of prefixes(log)) {
        expect(unsoundness(state)).toEqual([]);
        for (const lot of state.lots) {
          const parts = [lot.available, lot.held, lot.consumed, lot.revoked];
          expect(Math.min(...parts)).toBeGreaterThanOrEqual(0);
          expect(parts.reduce((sum, part) => sum + part, 0)).toBe(lot.granted);
        }
      }
      for (const { after } of played) expect(unpaidClaims(after)).toEqual([]);
    });
  });

  test('ends each reservation at most once, in a capture or in a release', () => {
    forRandomLedgers((played, log) => {
      const ends = new Map<string, number>();
      const reserved = new Set<string>();
      for (const { data } of of(log, 'CreditsReserved')) {
        expect(reserved.has(data.runId)).toBe(false);
        reserved.add(data.runId);
      }
      for (const { data } of of(log, 'CreditsCaptured', 'CreditsReleased')) {
        expect(reserved.has(data.runId)).toBe(true);
        ends.set(data.runId, (ends.get(data.runId) ?? 0) + 1);
      }
      const open = Object.keys(played.at(-1)?.after.holds ?? {});
      expect([...ends.values()].every((count) => count === 1)).toBe(true);
      expect(new Set([...open, ...ends.keys()])).toEqual(reserved);
      expect(open.length + ends.size).toBe(reserved.size);
    });
  });

  test('returns to a run what its settlement says, once, naming the run', () => {
    forRandomLedgers((played, log) => {
      for (const { command, events, before } of accepted(played, 'Settle')) {
        const { settlement } = command;
        const hold = before.holds[command.runId];
        const [captured] = of(events, 'CreditsCaptured');
        const returned = of(events, 'CreditsReturned');
        const [released] = of(events, 'CreditsReleased');
        expect(captured?.data.credits).toBe(
          settlement.kind === 'capture' ? settlement.capture : undefined,
        );
        expect(released?.data.credits).toBe(
          settlement.kind === 'release' ? hold?.credits : undefined,
        );
        const refund = settlement.kind === 'capture' ? settlement.refund : 0;
        expect(returned.map((event) => event.data.credits)).toEqual(refund === 0 ? [] : [refund]);
        expect(returned.every((event) => event.data.cause === command.runId)).toBe(true);
      }
      const causes = of(log, 'CreditsReturned').map(({ data }) => data.cause);
      expect(new Set(causes).size).toBe(causes.length);
    });
  });

  test('draws bonus, then other, then paid, the oldest first, and gives back in reverse', () => {
    forRandomLedgers((played) => {
      for (const { command, events, before } of accepted(played, 'Reserve')) {
        const [reserved] = events;
        if (reserved?.type !== 'CreditsReserved') throw new Error('A reserve did not reserve');
        const used = monthOf(command, before) === before.month.month ? before.month.count : 0;
        const atLimit = command.limit >= 0 && used >= command.limit;
        const lots = before.lots.filter((lot) => !atLimit || lot.source !== 'bonus');
        expect(reserved.data.allocations).toEqual(drawnOneByOne(lots, command.credits));
      }
      for (const { command, events, before } of accepted(played, 'Settle')) {
        const drawn = before.holds[command.runId]?.allocations ?? [];
        for (const { data } of of(events, 'CreditsReturned', 'CreditsReleased'))
          expect(data.byLot).toEqual(returnedOneByOne(drawn, data.credits));
      }
    });
  });

  test('answers a repeat with the first answer and writes nothing', () => {
    forRandomLedgers((played) => {
      const first = new Map<string, readonly CreditEvent[]>();
      for (const { sent, answer, before, after } of played) {
        if (!sent || answer?.kind !== 'done') continue;
        const known = first.get(sent.commandId);
        expect(answer.repeated).toBe(known !== undefined);
        expect(answer.events).toEqual(known ?? answer.events);
        expect(after === before).toBe(answer.repeated);
        first.set(sent.commandId, answer.events);
      }
    });
  });

  test('refuses another body under a known command id, and remembers no refusal', () => {
    forRandomLedgers((played) => {
      const known = new Map<string, string>();
      for (const { sent, answer, before, after } of played) {
        if (!sent || !answer) continue;
        const body = fingerprintOf(sent.command);
        const earlier = known.get(sent.commandId);
        const mismatch = answer.kind === 'refused' && answer.code === 'idempotency-mismatch';
        expect(mismatch).toBe(earlier !== undefined && earlier !== body);
        expect(answer.kind === 'done' || after === before).toBe(true);
        if (answer.kind === 'done') known.set(sent.commandId, body);
      }
    });
  });

  test('has a history whose amounts sum to its balance', () => {
    forRandomLedgers((_, log) => {
      let sum = 0;
      for (const event of log) {
        const { available, held, debt } = balanceChange(event);
        sum += available + held - debt;
        const { balance } = event.data;
        expect(sum).toBe(balance.available + balance.held - balance.debt);
      }
    });
  });

  test('carries on every event the balance that the amounts give', () => {
    forRandomLedgers((_, log) => {
      for (const { event, state } of prefixes(log))
        expect(event.data.balance).toEqual(state.balance);
    });
  });

  test('is the same from a snapshot, from the first event, or from any place between', () => {
    fc.assert(
      fc.property(anySteps, anyLimit, fc.nat(), (steps, limit, place) => {
        const bus = createBus();
        play(steps, limit, bus);
        const log = roundTrip(bus.log);
        const cut = log.length === 0 ? 0 : place % log.length;
        const snapshot = roundTrip(log.slice(0, cut).reduce<AccountState>(evolve, initialState()));
        expect(log.slice(cut).reduce<AccountState>(evolve, snapshot)).toEqual(bus.state);
        expect(log.reduce<AccountState>(evolve, initialState())).toEqual(bus.state);
        expect(roundTrip(bus.state)).toEqual(bus.state);
      }),
      runs,
    );
  });

  test('counts a month’s runs that bonus credits paid for, and gives back on release', () => {
    forRandomLedgers((played) => {
      const counted = new Map<string, string>();
      for (const { sent, answer, before, after } of played) {
        const isFirst = answer?.kind === 'done' && !answer.repeated;
        if (isFirst && sent?.command.type === 'Reserve' && paidByBonus(before, answer.events))
          counted.set(sent.command.runId, monthOf(sent.command, before));
        if (isFirst && sent?.command.type === 'Settle')
          if (sent.command.settlement.kind === 'release') counted.delete(sent.command.runId);
        const { month, count } = after.month;
        expect(count).toBe([...counted.values()].filter((other) => other === month).length);
      }
    });
  });

  test('lets bonus credits pay for no more runs of a month than the limit', () => {
    forRandomLedgers((played) => {
      for (const { command, events, before, after } of accepted(played, 'Reserve')) {
        const byBonus = paidByBonus(before, events);
        const [reserved] = of(events, 'CreditsReserved');
        expect(reserved?.data.bonusMonth).toBe(byBonus ? monthOf(command, before) : null);
        const most = byBonus && command.limit >= 0 ? command.limit : Number.POSITIVE_INFINITY;
        expect(after.month.count).toBeLessThanOrEqual(most);
      }
      for (const { sent, before } of refused(played, 'monthly-limit')) {
        const { command } = sent;
        const credits = command.type === 'Reserve' ? command.credits : 0;
        const paid = before.lots.filter((lot) => lot.source !== 'bonus');
        expect(before.balance.available).toBeGreaterThanOrEqual(credits);
        expect(paid.reduce((sum, lot) => sum + lot.available, 0)).toBeLessThan(credits);
      }
    });
  });

  test('takes back exactly what was revoked: from the lot, later from its holds, or as debt', () => {
    forRandomLedgers((played) => {
      let revoked = 0;
      for (const { sent, answer, after } of played) {
        if (sent?.command.type === 'Revoke' && answer?.kind === 'done' && !answer.repeated)
          revoked += sent.command.credits;
        const waiting = after.lots
          .flatMap((lot) => lot.waiting)
          .reduce((sum, claim) => sum + claim.credits, 0);
        expect(after.balance.revoked + after.balance.debt + waiting).toBe(revoked);
      }
    });
  });

  test('starts no run while there is debt, and settles debt before a purchase can be spent', () => {
    forRandomLedgers((played) => {
      for (const { before, events } of accepted(played, 'Reserve')) {
        expect(before.balance.debt).toBe(0);
        expect(events).toHaveLength(1);
      }
      for (const { command, before, after } of accepted(played, 'Grant')) {
        const settled =
          command.source === 'purchase' ? Math.min(command.credits, before.balance.debt) : 0;
        expect(after.balance.debt).toBe(before.balance.debt - settled);
        expect(after.balance.available).toBe(before.balance.available + command.credits - settled);
      }
    });
  });

  test('holds nothing once every run has settled', () => {
    fc.assert(
      fc.property(anySteps, anyLimit, fc.boolean(), (steps, limit, release) => {
        const bus = createBus();
        play(steps, limit, bus);
        for (const [run, hold] of Object.entries(bus.state.holds))
          bus.send(`settle ${run}`, {
            type: 'Settle',
            runId: run,
            settlement: release
              ? { kind: 'release' }
              : { kind: 'capture', capture: hold.credits, refund: 0 },
          });
        expect(bus.state.balance.held).toBe(0);
        expect(bus.state.holds).toEqual({});
        expect(bus.state.lots.flatMap((lot) => lot.waiting)).toEqual([]);
      }),
      runs,
    );
  });

  test('keeps no trace of a settled run in its state', () => {
    forRandomLedgers((played, log) => {
      const last = played.at(-1)?.after ?? initialState();
      const text = JSON.stringify(last);
      for (const { data } of of(log, 'CreditsCaptured', 'CreditsReleased'))
        expect(text).not.toContain(data.runId);
    });
  });
});

describe('cancel and reserve of one run, in either order', () => {
  const grant: CreditCommand = {
    type: 'Grant',
    lotId: 'lot_1',
    credits: 20,
    source: 'other',
    paidMinor: null,
    currency: null,
    paymentKey: null,
    grantedAt: '2026-11-20T00:00:00.000Z',
    reason: 'operator',
  };
  const reserve: CreditCommand = {
    type: 'Reserve',
    runId: runId(1),
    credits: 14,
    month: '2026-11',
    limit: -1,
  };
  const release: CreditCommand = {
    type: 'Settle',
    runId: runId(1),
    settlement: { kind: 'release' },
  };

  test('a settle that comes first leaves no mark, and the next one settles', () => {
    const bus = createBus();
    bus.send('grant', grant);
    expect(bus.send('settle', release)).toEqual({ kind: 'nothing' });
    expect(bus.log).toHaveLength(1);
    expect(bus.send('reserve', reserve)).toMatchObject({ kind: 'done' });
    expect(bus.state.balance).toMatchObject({ available: 6, held: 14 });
    expect(bus.send('settle', release)).toMatchObject({ kind: 'done', repeated: false });
    expect(bus.state.balance).toMatchObject({ available: 20, held: 0, consumed: 0 });
  });

  test('a settle that comes second gives everything back, and the reserve is not done again', () => {
    const bus = createBus();
    bus.send('grant', grant);
    bus.send('reserve', reserve);
    bus.send('settle', release);
    expect(bus.send('reserve', reserve)).toMatchObject({ kind: 'done', repeated: true });
    expect(bus.send('settle', release)).toMatchObject({ kind: 'done', repeated: true });
    expect(bus.state.balance).toMatchObject({ available: 20, held: 0 });
    expect(bus.log).toHaveLength(3);
  });
});
