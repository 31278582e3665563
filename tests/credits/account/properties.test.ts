import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { evolve, initialState } from '#services/credits/account/state.ts';
import { decide, fingerprintOf } from '#services/credits/account/account.ts';
import type { AccountState } from '#services/credits/account/state.ts';
import type { CreditCommand } from '#services/credits/account/account.ts';
import { postings } from '#services/credits/account/movements.ts';
import { commandLimits } from '#services/platform/command.ts';
import {
  anyLimit,
  anySteps,
  createBus,
  keyCap,
  play,
  roundTrip,
  runId,
} from '#tests/credits/ledger-model.ts';
import { andThen } from './commands.ts';
import type { Played, Step } from '#tests/credits/ledger-model.ts';
import type { CreditEvent } from '#services/credits/account/events.ts';

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

const anyShare = fc.integer({ min: 1, max: 100 });

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

describe('random ledgers', () => {
  test('a random ledger has only events that its books allow, and its state is theirs', () => {
    forRandomLedgers((played, log) => {
      // The bus has compared each event, and the state after each command, with the oracle.
      expect(played.filter(({ answer }) => answer?.kind === 'done').length > 0).toBe(
        log.length > 0,
      );
      const text = JSON.stringify(played.at(-1)?.after ?? {});
      for (const { data } of of(log, 'CreditsCaptured', 'CreditsReleased'))
        expect(text).not.toContain(data.runId);
    });
  });

  test('a random ledger moves what an event says from one account to another', () => {
    forRandomLedgers((_, log) => {
      for (const event of log) {
        const moved = 'credits' in event.data ? event.data.credits : 0;
        const lines = postings(event).map(({ credits }) => credits);
        expect(lines).toEqual(lines.length === 0 ? [] : [-moved, moved]);
      }
    });
  });

  test('a random ledger settles a run as the command says', () => {
    forRandomLedgers((played) => {
      for (const { command, events, before } of accepted(played, 'Settle')) {
        const { runId: run, settlement } = command;
        const { capture, refund } =
          settlement.kind === 'capture' ? settlement : { capture: 0, refund: 0 };
        const facts = events.flatMap(({ type, data }) =>
          'runId' in data && data.runId === run ? [[type, data.credits]] : [],
        );
        expect(facts).toEqual([
          ...(capture > 0 ? [['CreditsCaptured', capture]] : []),
          ...(refund > 0 ? [['CreditsReturned', refund]] : []),
          ...(capture > 0 ? [] : [['CreditsReleased', before.holds[run]?.credits]]),
        ]);
      }
    });
  });

  test('a random ledger lets bonus credits pay for as many runs of a month as the limit, and no more', () => {
    forRandomLedgers((played) => {
      for (const { command, events, before, after } of accepted(played, 'Reserve')) {
        const [reserved] = of(events, 'CreditsReserved');
        const month = monthOf(command, before);
        const used = month === before.month.month ? before.month.count : 0;
        const atLimit = command.limit >= 0 && used >= command.limit;
        const hasBonus = before.lots.some((lot) => lot.source === 'bonus' && lot.available > 0);
        expect(reserved?.data.bonusMonth).toBe(hasBonus && !atLimit ? month : null);
        expect(after.month.count).toBe(
          reserved?.data.bonusMonth === null ? before.month.count : used + 1,
        );
      }
    });
  });

  test('a random ledger lets the runs of no API key use more than its cap in a month', () => {
    let reached = 0;
    forRandomLedgers((played) => {
      for (const { command, before, after } of accepted(played, 'Reserve')) {
        if (!command.apiKey) continue;
        const { id } = command.apiKey;
        expect(after.keySpending.credits[id]).toBeLessThanOrEqual(keyCap);
        expect(after.keySpending.month >= before.keySpending.month).toBe(true);
      }
      for (const { sent, before } of refused(played, 'monthly-cap-reached')) {
        if (sent.command.type !== 'Reserve' || !sent.command.apiKey) throw new Error('No key');
        const { month, credits } = before.keySpending;
        const used = sent.command.month > month ? 0 : (credits[sent.command.apiKey.id] ?? 0);
        expect(used + sent.command.credits).toBeGreaterThan(keyCap);
        reached += 1;
      }
    });
    expect(reached).toBeGreaterThan(0);
  });

  test('a random ledger refuses only with a reason', () => {
    const needed = (command: CreditCommand) => ('credits' in command ? (command.credits ?? 0) : 0);
    forRandomLedgers((played) => {
      for (const { sent, before } of refused(played, 'insufficient-credits'))
        expect(before.balance.available).toBeLessThan(needed(sent.command));
      for (const { sent, before } of refused(played, 'monthly-limit')) {
        const paid = before.lots.filter((lot) => lot.source !== 'bonus');
        const available = paid.reduce((sum, lot) => sum + lot.available, 0);
        expect(before.balance.available).toBeGreaterThanOrEqual(needed(sent.command));
        expect(available).toBeLessThan(needed(sent.command));
      }
      for (const { before } of refused(played, 'account-closed')) expect(before.closed).toBe(true);
      for (const { before } of refused(played, 'debt'))
        expect(before.balance.debt).toBeGreaterThan(0);
      for (const { before } of refused(played, 'spending-frozen'))
        expect(before.balance.freezes).toBeGreaterThan(0);
    });
  });

  test('a random ledger takes no command that would need more events than one may have, and settles every run', () => {
    fc.assert(
      fc.property(anySteps, anyLimit, fc.boolean(), (steps, limit, release) => {
        const bus = createBus();
        const answers = play(steps, limit, bus).map(({ answer }) => answer);
        for (const [run, hold] of Object.entries(bus.state().holds))
          answers.push(
            bus.send(`settle ${run}`, {
              type: 'Settle',
              runId: run,
              settlement: release
                ? { kind: 'release' }
                : { kind: 'capture', capture: hold.credits, refund: 0 },
            }),
          );
        expect(bus.state().holds).toEqual({});
        for (const answer of answers)
          expect(answer?.kind === 'done' ? answer.events.length : 0).toBeLessThanOrEqual(
            commandLimits.eventsPerCommand,
          );
      }),
    );
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

  test('a random ledger is the same from a snapshot, from the first event, or from any place between', () => {
    fc.assert(
      fc.property(anySteps, anyLimit, fc.nat(), (steps, limit, place) => {
        const bus = createBus();
        play(steps, limit, bus);
        const log = roundTrip(bus.log);
        const cut = log.length === 0 ? 0 : place % log.length;
        const snapshot = roundTrip(log.slice(0, cut).reduce<AccountState>(evolve, initialState()));
        expect(log.slice(cut).reduce<AccountState>(evolve, snapshot)).toEqual(bus.state());
        expect(log.reduce<AccountState>(evolve, initialState())).toEqual(bus.state());
        expect(roundTrip(bus.state())).toEqual(bus.state());
      }),
    );
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
    // A purchase that has paid a debt is disputed, and so is what paid for that.
    const aDebtPaidTwice: Step[] = [
      { do: 'grant', lot: 0, credits: 2 },
      { do: 'consume', credits: 2 },
      { do: 'grant', lot: 1, credits: 1 },
    ];
    const disputesOfIt = [
      { back: 1, part: 100, end: 0 },
      { buy: 1 },
      { back: 0, part: 100, end: 0 },
      { buy: 1 },
      { back: 1, part: 1, end: 0 },
    ];
    fc.assert(
      fc.property(anySteps, fc.array(anyMove, { maxLength: 12, size: 'max' }), (steps, moves) => {
        const bus = createBus();
        play(steps, -1, bus);
        fc.pre(!bus.state().closed);
        let undisputed = bus.state();
        let disputed = bus.state();
        const disputes: { lotId: string; ref: string; end: number }[] = [];
        for (const [index, move] of moves.entries())
          if ('buy' in move) {
            undisputed = andThen(undisputed, purchaseOf(move.buy, index));
            disputed = andThen(disputed, purchaseOf(move.buy, index));
          } else {
            const lot = disputed.lots.at(-1 - move.back);
            if (!lot) continue;
            const dispute = { lotId: lot.lotId, ref: `dp_later_${index}` };
            disputes.push({ ...dispute, end: move.end });
            const wanted = Math.ceil((lot.granted * move.part) / 100);
            disputed = andThen(disputed, disputing(dispute, wanted));
          }
        for (const dispute of disputes.toSorted((left, right) => left.end - right.end))
          disputed = andThen(disputed, disputing(dispute, 0));
        expect(withoutNames(disputed)).toEqual(withoutNames(undisputed));
      }),
      { examples: [[aDebtPaidTwice, disputesOfIt]] },
    );
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
    expect(bus.state().balance).toMatchObject({ available: 6, held: 14 });
    expect(bus.send('settle', release)).toMatchObject({ kind: 'done', repeated: false });
    expect(bus.state().balance).toMatchObject({ available: 20, held: 0, consumed: 0 });
  });

  test('a settle that comes second gives everything back, and the reserve is not done again', () => {
    const bus = createBus();
    bus.send('grant', grant);
    bus.send('reserve', reserve);
    bus.send('settle', release);
    expect(bus.send('reserve', reserve)).toMatchObject({ kind: 'done', repeated: true });
    expect(bus.send('settle', release)).toMatchObject({ kind: 'done', repeated: true });
    expect(bus.state().balance).toMatchObject({ available: 20, held: 0 });
    expect(bus.log).toHaveLength(3);
  });
});
