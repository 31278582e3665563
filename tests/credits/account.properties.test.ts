import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { evolve, initialState } from '#services/credits/account/state.ts';
import { decide, fingerprintOf } from '#services/credits/account/account.ts';
import { unpaidClawbacks } from '#services/credits/account/clawbacks.ts';
import type { AccountState } from '#services/credits/account/state.ts';
import type { CreditCommand } from '#services/credits/account/account.ts';
import { balanceChange, postings } from '#services/credits/account/movements.ts';
import { unsoundness } from '#services/credits/account/soundness.ts';
import { commandLimits } from '#services/platform/command.ts';
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
import type { CreditEvent } from '#services/credits/account/events.ts';

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

function creditsOf(portions: readonly { credits: number }[]): number {
  return total(portions, ({ credits }) => credits);
}

function total<Item>(items: readonly Item[], amount: (item: Item) => number): number {
  return items.reduce((sum, item) => sum + amount(item), 0);
}

const anyShare = fc.integer({ min: 1, max: 100 });

/** The account after these commands, each of which must be accepted. */
function accountAfter(state: AccountState, ...commands: CreditCommand[]): AccountState {
  return commands.reduce(
    (before, command) => decide(command, before).reduce<AccountState>(evolve, before),
    state,
  );
}

function disputing({ lotId, ref }: { lotId: string; ref: string }, wanted: number): CreditCommand {
  return { type: 'SetClawback', lotId, ref, cause: 'dispute', wanted, owes: true };
}

function purchaseOf(credits: number, index: number): CreditCommand {
  return {
    type: 'Grant',
    lotId: `lot_bought_${index}`,
    credits,
    source: 'purchase',
    paidMinor: credits * 40,
    currency: 'usd',
    paymentKey: `pi:bought_${index}`,
    purchaseId: `pur_bought_${index}`,
    grantedAt: '2028-01-01T00:00:00.000Z',
    reason: 'boost-20',
  };
}

/** How many debts there have been is not undone, nor how a payment of one was cut into parts. */
function withoutNames(state: AccountState): unknown {
  const settled = new Map<string, number>();
  for (const { debtLotId, lotId: by, ref, credits } of state.settlements) {
    const key = `${debtLotId} ${by} ${ref}`;
    settled.set(key, (settled.get(key) ?? 0) + credits);
  }
  return {
    ...state,
    lots: state.lots.map((lot) => ({ ...lot, debts: 0 })),
    debts: state.debts.map((debt) => ({ ...debt, debt: '' })),
    settlements: settled,
  };
}

function lotIn(played: readonly Played[], wanted: string) {
  const lot = played.at(-1)?.after.lots.find((candidate) => candidate.lotId === wanted);
  if (!lot) throw new Error('There is no such lot');
  return lot;
}

function grantedIn({ balance }: AccountState): number {
  return balance.purchased + balance.bonus + balance.other;
}

function paidByBonus(before: AccountState, events: readonly CreditEvent[]): boolean {
  const bonus = new Set(
    before.lots.filter((lot) => lot.source === 'bonus').map((lot) => lot.lotId),
  );
  return of(events, 'CreditsReserved').some(({ data }) =>
    data.allocations.some((share) => bonus.has(share.lotId)),
  );
}

describe('random ledgers', () => {
  test('a random ledger moves whole credits from account to account: each transaction sums to 0', () => {
    forRandomLedgers((_, log) => {
      for (const event of log) {
        const lines = postings(event);
        expect(lines.every(({ credits }) => Number.isSafeInteger(credits))).toBe(true);
        expect(lines.reduce((sum, { credits }) => sum + credits, 0)).toBe(0);
        const moved = 'credits' in event.data ? event.data.credits : null;
        // A clawback says where it should stand, which may be nowhere.
        expect(moved ?? 1).toBeGreaterThanOrEqual(event.type === 'ClawbackSet' ? 0 : 1);
        expect(lines.every(({ credits }) => Math.abs(credits) === moved)).toBe(true);
      }
    });
  });

  test('a random ledger is never negative after any event', () => {
    forRandomLedgers((_, log) => {
      for (const { state } of prefixes(log)) {
        expect(state.balance.available).toBeGreaterThanOrEqual(0);
        expect(state.balance.held).toBeGreaterThanOrEqual(0);
        expect(state.balance.debt).toBeGreaterThanOrEqual(0);
        expect(state.balance.revoked).toBeGreaterThanOrEqual(0);
        expect(state.balance.refundPending).toBeGreaterThanOrEqual(0);
        expect(state.balance.refunded).toBeGreaterThanOrEqual(0);
      }
    });
  });

  test('a random ledger accounts for every granted credit, lot by lot, after every event', () => {
    forRandomLedgers((played, log) => {
      for (const { state } of prefixes(log)) {
        expect(unsoundness(state)).toEqual([]);
        for (const lot of state.lots) {
          const used = [lot.available, lot.held, lot.consumed];
          const parts = [...used, lot.cashPending, lot.cashRefunded, lot.revoked];
          expect(Math.min(...parts)).toBeGreaterThanOrEqual(0);
          expect(parts.reduce((sum, part) => sum + part, 0)).toBe(lot.granted);
        }
      }
      for (const { after } of played) expect(unpaidClawbacks(after)).toEqual([]);
    });
  });

  test('a random ledger ends each reservation at most once, in a capture or in a release', () => {
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

  test('a random ledger returns to a run what its settlement says, once, naming the run', () => {
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

  test('a random ledger draws bonus, then other, then paid, the oldest first, and gives back in reverse', () => {
    forRandomLedgers((played) => {
      for (const { command, events, before } of accepted(played, 'Reserve')) {
        const [reserved] = events;
        if (reserved?.type !== 'CreditsReserved') throw new Error('A reserve did not reserve');
        const used = monthOf(command, before) === before.month.month ? before.month.count : 0;
        const atLimit = command.limit >= 0 && used >= command.limit;
        const lots = before.lots.filter((lot) => !atLimit || lot.source !== 'bonus');
        expect(reserved.data.allocations).toEqual(drawnOneByOne(lots, command.credits));
      }
      for (const { command, events, before } of accepted(played, 'Consume'))
        expect(of(events, 'CreditsConsumed').map(({ data }) => data.byLot)).toEqual([
          drawnOneByOne(before.lots, command.credits),
        ]);
      for (const { command, events, before } of accepted(played, 'Settle')) {
        const drawn = before.holds[command.runId]?.allocations ?? [];
        for (const { data } of of(events, 'CreditsReturned', 'CreditsReleased'))
          expect(data.byLot).toEqual(returnedOneByOne(drawn, data.credits));
      }
    });
  });

  test('a random ledger answers a repeat with the first answer and writes nothing', () => {
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

  test('a random ledger refuses another body under a known command id, and remembers no refusal', () => {
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

  test('a random ledger has a history whose amounts sum to its balance', () => {
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

  test('a random ledger carries on every event the balance that the amounts give', () => {
    forRandomLedgers((_, log) => {
      for (const { event, state } of prefixes(log))
        expect(event.data.balance).toEqual(state.balance);
    });
  });

  test('a random ledger is the same from a snapshot, from the first event, or from any place between', () => {
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
    );
  });

  test('a random ledger counts a month’s runs that bonus credits paid for, and gives back on release', () => {
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

  test('a random ledger lets bonus credits pay for no more runs of a month than the limit', () => {
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

  test('a random ledger takes back what clawbacks want: from the lot, later from its holds, or as debt', () => {
    forRandomLedgers((played) => {
      for (const { after } of played)
        for (const lot of after.lots) {
          const owed = creditsOf(after.debts.filter((debt) => debt.lotId === lot.lotId));
          const taken = total(lot.clawbacks, (clawback) => clawback.taken);
          expect(taken).toBe(lot.revoked + owed);
          const missing = lot.clawbacks.filter((clawback) => clawback.taken < clawback.wanted);
          expect(missing.length > 0 || owed > 0 ? lot.available : 0).toBe(0);
          // An unfilled clawback waits for a hold, or there is nothing left that it could take.
          const wanting = total(
            missing.filter((clawback) => clawback.owes),
            (clawback) => clawback.wanted - clawback.taken,
          );
          expect(lot.consumed > owed ? wanting : 0).toBeLessThanOrEqual(lot.held);
          const asking = lot.clawbacks.filter((clawback) => !clawback.owes).map(({ ref }) => ref);
          const owedFor = after.debts.filter(
            (debt) => debt.lotId === lot.lotId && asking.includes(debt.ref),
          );
          expect(owedFor).toEqual([]);
        }
    });
  });

  test('a random ledger brings a clawback to where it should stand, whatever it stood at, and once is enough', () => {
    forRandomLedgers((played) => {
      for (const { command, before, after } of accepted(played, 'SetClawback')) {
        const { lotId: id, ref, wanted, owes } = command;
        const lot = after.lots.find((candidate) => candidate.lotId === id);
        const clawback = lot?.clawbacks.find((candidate) => candidate.ref === ref);
        const stands = { wanted: Math.min(wanted, lot?.granted ?? 0), owes };
        expect(clawback && { wanted: clawback.wanted, owes: clawback.owes }).toEqual(
          wanted === 0 ? undefined : stands,
        );
        expect(clawback?.taken ?? 0).toBeLessThanOrEqual(wanted);
        expect(decide(command, after)).toEqual([]);
        expect(after.balance.held).toBe(before.balance.held);
      }
    });
  });

  test('a random ledger gives back exactly what disputes took, also when later purchases paid, were disputed, and paid for', () => {
    const anyMove = fc.oneof(
      fc.record({ buy: fc.integer({ min: 1, max: 12 }) }),
      // Mostly of late lots, which have settled debts, and mostly wholly.
      fc.record({
        back: fc.nat({ max: 3 }),
        part: fc.oneof(anyShare, fc.constant(100)),
        end: fc.integer(),
      }),
    );
    fc.assert(
      fc.property(anySteps, fc.array(anyMove, { maxLength: 12, size: 'max' }), (steps, moves) => {
        const bus = createBus();
        play(steps, -1, bus);
        fc.pre(!bus.state.closed);
        let undisputed = bus.state;
        let disputed = bus.state;
        const disputes: { lotId: string; ref: string; end: number }[] = [];
        for (const [index, move] of moves.entries())
          if ('buy' in move) {
            undisputed = accountAfter(undisputed, purchaseOf(move.buy, index));
            disputed = accountAfter(disputed, purchaseOf(move.buy, index));
          } else {
            const lot = disputed.lots.at(-1 - move.back);
            if (!lot) continue;
            const dispute = { lotId: lot.lotId, ref: `dp_later_${index}` };
            disputes.push({ ...dispute, end: move.end });
            const wanted = Math.ceil((lot.granted * move.part) / 100);
            disputed = accountAfter(disputed, disputing(dispute, wanted));
          }
        for (const dispute of disputes.toSorted((left, right) => left.end - right.end))
          disputed = accountAfter(disputed, disputing(dispute, 0));
        expect(withoutNames(disputed)).toEqual(withoutNames(undisputed));
      }),
    );
  });

  test('a random ledger refunds what was paid for unused credits, rounded down, and never more than was paid', () => {
    forRandomLedgers((played, log) => {
      for (const { data } of of(log, 'CashRefundRequested')) {
        const lot = lotIn(played, data.lotId);
        const exact = BigInt(lot.paidMinor ?? 0) * BigInt(data.credits);
        expect(BigInt(data.amountMinor) * BigInt(lot.granted)).toBeLessThanOrEqual(exact);
        expect(BigInt(data.amountMinor + 1) * BigInt(lot.granted)).toBeGreaterThan(exact);
      }
      for (const { command, before, after: later } of accepted(played, 'RequestRefund')) {
        const lot = before.lots.find((candidate) => candidate.lotId === command.lotId);
        expect(lot).toMatchObject({ source: 'purchase', cashPending: 0 });
        for (const clawback of lot?.clawbacks ?? []) {
          expect(clawback.cause).not.toBe('dispute');
          expect(clawback.taken).toBe(clawback.wanted);
        }
        expect(before.balance.debt).toBe(0);
        expect(before.closed && command.reason === 'customer').toBe(false);
        expect(later.lots.find(({ lotId: id }) => id === command.lotId)?.available).toBe(0);
      }
      for (const { after: later } of played)
        for (const lot of later.lots) {
          const refunds = Object.values(later.refunds).filter(
            (refund) =>
              refund.lotId === lot.lotId && refund.status !== 'failed' && !refund.clawedBack,
          );
          const money = refunds.reduce((sum, refund) => sum + refund.amountMinor, 0);
          expect(money).toBeLessThanOrEqual(lot.paidMinor ?? 0);
          expect(creditsOf(refunds)).toBe(lot.cashPending + lot.cashRefunded);
        }
    });
  });

  test('a random ledger gives back the credits of a refund that failed, and only of one', () => {
    forRandomLedgers((played) => {
      for (const { command, before, after: later } of accepted(played, 'EndRefund')) {
        const { refundId, outcome } = command;
        const was = before.refunds[refundId];
        expect(was?.status).not.toBe(outcome);
        expect(later.refunds[refundId]).toMatchObject({ status: outcome, endedAt: command.at });
        const { available, held, consumed, revoked, debt } = later.balance;
        const outside = before.balance.refundPending + before.balance.refunded;
        const isOutside = later.balance.refundPending + later.balance.refunded;
        const moved = outcome === 'failed' && !was?.clawedBack ? (was?.credits ?? 0) : 0;
        expect(isOutside).toBe(outside - moved);
        expect(available + held + consumed + revoked).toBe(grantedIn(later) - isOutside);
        expect(debt).toBe(creditsOf(later.debts));
      }
    });
  });

  test('a random ledger starts no run while there is debt, and settles debt before a purchase can be spent', () => {
    forRandomLedgers((played) => {
      for (const { before, events } of accepted(played, 'Reserve')) {
        expect(before.balance.debt).toBe(0);
        expect(events).toHaveLength(1);
      }
      for (const { command, before, after } of accepted(played, 'Grant')) {
        const settled =
          command.source === 'purchase' ? Math.min(command.credits, before.balance.debt) : 0;
        expect(after.balance.debt).toBe(before.balance.debt - settled);
        const left = command.credits - settled;
        const usable = after.balance.available - before.balance.available;
        const asked = after.balance.refundPending - before.balance.refundPending;
        expect(usable + asked).toBe(left);
        // Paid credits of a closed account are refunded, unless they are worth less than a cent.
        const paid = command.source === 'purchase' && before.closed;
        const worth = Math.floor(((command.paidMinor ?? 0) * left) / command.credits);
        expect(asked).toBe(paid && worth > 0 && after.balance.debt === 0 ? left : 0);
      }
    });
  });

  test('a random ledger gives another service what is available and not owed, and no more', () => {
    forRandomLedgers((played) => {
      for (const { command, before, after } of accepted(played, 'Consume')) {
        const { available, consumed, debt } = before.balance;
        expect([debt, before.closed]).toEqual([0, false]);
        expect(after.balance).toEqual({
          ...before.balance,
          available: available - command.credits,
          consumed: consumed + command.credits,
        });
        expect(after.month).toEqual(before.month);
      }
      for (const { sent, before } of refused(played, 'insufficient-credits')) {
        const credits = 'credits' in sent.command ? sent.command.credits : 0;
        expect(before.balance.available).toBeLessThan(credits);
      }
    });
  });

  test('a random ledger spends nothing once it is closed, and takes only what was paid; what is held settles', () => {
    forRandomLedgers((played, log) => {
      for (const type of ['Reserve', 'Consume'] as const)
        for (const { before } of accepted(played, type)) expect(before.closed).toBe(false);
      for (const { before, command } of accepted(played, 'Grant'))
        expect(before.closed && command.source !== 'purchase').toBe(false);
      for (const { before } of refused(played, 'account-closed')) expect(before.closed).toBe(true);
      for (const { before, after, sent } of played.filter(({ before: { closed } }) => closed)) {
        expect(after.closed).toBe(true);
        expect(after.balance.held).toBeLessThanOrEqual(before.balance.held);
        const paid = sent?.command.type === 'Grant' ? sent.command.credits : 0;
        expect([0, paid]).toContain(grantedIn(after) - grantedIn(before));
      }
      expect(of(log, 'AccountClosed').length).toBeLessThanOrEqual(1);
    });
  });

  test('a random ledger takes no command that would need more events than one may have', () => {
    forRandomLedgers((played) => {
      for (const { answer } of played)
        expect(answer?.kind === 'done' ? answer.events.length : 0).toBeLessThanOrEqual(
          commandLimits.eventsPerCommand,
        );
    });
  });

  test('a random ledger holds nothing once every run has settled', () => {
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
        for (const lot of bus.state.lots) {
          const wanting = lot.clawbacks.filter(
            (clawback) => clawback.owes && clawback.taken < clawback.wanted,
          );
          const owed = creditsOf(bus.state.debts.filter((debt) => debt.lotId === lot.lotId));
          // What a clawback could not get was refunded before.
          expect(wanting.length > 0 ? [lot.available, lot.consumed] : [0, owed]).toEqual([0, owed]);
        }
      }),
    );
  });

  test('a random ledger keeps no trace of a settled run in its state', () => {
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
