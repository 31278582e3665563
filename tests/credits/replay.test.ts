import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { addTrialBalances } from '#services/credits/account/movements.ts';
import {
  balanceDifferences,
  recordedCreditEvents,
  replay,
  settlementDifferences,
  stateOf,
} from '#services/credits/audit/replay.ts';
import type { RecordedCreditEvent } from '#services/credits/audit/replay.ts';
import type { Settlement } from '#services/optimizations/run/events.ts';
import { anyLog, anySteps, createBus, lotId, play, runId } from './ledger-model.ts';
import type { CreditEvent } from '#services/credits/account/events.ts';

/** Positions of the whole log have gaps; times are a second apart. */
function recordedAs(log: readonly CreditEvent[]): RecordedCreditEvent[] {
  return log.map((event, index) => ({
    position: 100 + index * 7,
    at: new Date(Date.UTC(2026, 10, 20) + index * 1000).toISOString(),
    event,
  }));
}

const story = (() => {
  const bus = createBus();
  play(
    [
      { do: 'grant', lot: 0, credits: 20 },
      { do: 'grant', lot: 1, credits: 4 },
      { do: 'reserve', run: 1, credits: 14 },
      { do: 'capture', run: 1, refundShare: 50 },
      { do: 'clawback', lot: 0, ref: 0, share: 100, cause: 'dispute', owes: true },
      { do: 'grant', lot: 4, credits: 1 },
      { do: 'grant', lot: 3, credits: 30 },
    ],
    -1,
    bus,
  );
  return recordedAs(bus.log);
})();

/** The story with other data in one event. */
function changed(index: number, data: Record<string, unknown>): RecordedCreditEvent[] {
  return story.map((item, at) =>
    at === index
      ? {
          ...item,
          event: { ...item.event, data: { ...item.event.data, ...data } } as CreditEvent,
        }
      : item,
  );
}

/** The settlements that the runs' conclusions would carry. */
function settlementsOf(log: readonly RecordedCreditEvent[]): Map<string, Settlement> {
  const settlements = new Map<string, Settlement>();
  for (const { event } of log) {
    if (event.type === 'CreditsReleased') settlements.set(event.data.runId, { kind: 'release' });
    if (event.type === 'CreditsCaptured')
      settlements.set(event.data.runId, {
        kind: 'capture',
        capture: event.data.credits,
        refund: 0,
      });
    if (event.type === 'CreditsReturned') {
      const captured = settlements.get(event.data.runId);
      if (captured?.kind === 'capture')
        settlements.set(event.data.runId, { ...captured, refund: event.data.credits });
    }
  }
  return settlements;
}

describe('replay', () => {
  test('replay shows every event with the running figures and what it moved in each lot', () => {
    const { entries, balance, as_of, verified } = replay('usr_1', story);
    expect(
      entries.map(({ type, amount, available, held, debt }) => [
        type,
        amount,
        available,
        held,
        debt,
      ]),
    ).toEqual([
      ['CreditsGranted', 20, 20, 0, 0],
      ['CreditsGranted', 4, 24, 0, 0],
      ['CreditsReserved', 0, 10, 14, 0],
      ['CreditsCaptured', -14, 10, 0, 0],
      ['CreditsReturned', 7, 17, 0, 0],
      ['ClawbackSet', 0, 17, 0, 0],
      ['LotRevoked', -17, 0, 0, 0],
      ['DebtIncurred', -3, 0, 0, 3],
      ['CreditsGranted', 1, 1, 0, 3],
      ['DebtSettled', 0, 0, 0, 2],
      ['CreditsGranted', 30, 30, 0, 2],
      ['DebtSettled', 0, 28, 0, 0],
    ]);
    expect(entries[2]?.lot_changes).toEqual([
      {
        lot_id: lotId(0),
        available: -10,
        held: 10,
        consumed: 0,
        cash_pending: 0,
        cash_refunded: 0,
        revoked: 0,
      },
      {
        lot_id: lotId(1),
        available: -4,
        held: 4,
        consumed: 0,
        cash_pending: 0,
        cash_refunded: 0,
        revoked: 0,
      },
    ]);
    expect(entries.map(({ cause }) => cause).slice(5)).toEqual([
      'dispute',
      'dispute',
      'dispute',
      'boost-20',
      `${lotId(0)}:1`,
      'boost-20',
      `${lotId(0)}:1`,
    ]);
    expect({ balance, as_of, verified }).toEqual({
      balance: {
        available: 28,
        held: 0,
        debt: 0,
        purchased: 51,
        bonus: 4,
        other: 0,
        consumed: 7,
        refundPending: 0,
        freezes: 0,
        refunded: 0,
        revoked: 20,
      },
      as_of: story.at(-1)?.at,
      verified: true,
    });
  });

  test('replay ends with balanced books', () => {
    expect(replay('usr_1', story).trial_balance).toEqual({
      granted: 55,
      available: 28,
      held: 0,
      consumed: 14,
      refunded: 7,
      cash_pending: 0,
      cash_refunded: 0,
      revoked: 20,
      debt: 0,
      balanced: true,
    });
  });

  test('replay of any random ledger, and of any beginning of one, finds no difference', () => {
    fc.assert(
      fc.property(anyLog, fc.nat({ max: 80 }), (log, count) => {
        const recorded = recordedAs(log);
        const whole = replay('usr_1', recorded);
        expect(whole.differences).toEqual([]);
        expect(whole.balance).toEqual(stateOf(recorded).balance);
        expect(whole.trial_balance.balanced).toBe(true);
        const { available, held, debt } = whole.balance;
        const sum = whole.entries.reduce((total, entry) => total + entry.amount, 0);
        expect(sum).toBe(available + held - debt);
        const part = replay('usr_1', recorded, { position: 100 + (count - 1) * 7 });
        expect(part.entries).toEqual(whole.entries.slice(0, count));
        expect(part.verified).toBe(true);
      }),
    );
  });

  test('replay up to a position or a time includes that event', () => {
    const third = story[2];
    if (!third) throw new Error('The story is too short');
    const byPosition = replay('usr_1', story, { position: third.position });
    const byTime = replay('usr_1', story, { at: third.at });
    const sameMoment = replay('usr_1', story, { at: third.at.replace('Z', '+00:00') });
    expect(byPosition.entries).toHaveLength(3);
    expect(byTime).toEqual(byPosition);
    expect(sameMoment).toEqual(byPosition);
    expect(byPosition.as_of).toBe(third.at);
    expect(replay('usr_1', story, { position: 0 })).toMatchObject({
      as_of: null,
      entries: [],
      verified: true,
    });
  });
});

describe('replay of a ledger that was tampered with', () => {
  test('replay reports a balance that the amounts do not give, where it stands', () => {
    const { differences, verified } = replay(
      'usr_1',
      changed(3, { balance: { ...story[3]?.event.data.balance, available: 999 } }),
    );
    expect(verified).toBe(false);
    expect(differences).toEqual([
      { position: story[3]?.position, what: 'balance.available', recorded: 999, recomputed: 10 },
    ]);
  });

  test('replay reports an amount that was changed', () => {
    const { differences } = replay('usr_1', changed(0, { credits: 21 }));
    expect(differences).toContainEqual({
      position: story[0]?.position,
      what: 'balance.available',
      recorded: 20,
      recomputed: 21,
    });
  });

  test('replay reports shares that do not add up to the amount, even where every balance agrees', () => {
    const { differences } = replay(
      'usr_1',
      changed(2, { allocations: [{ lotId: lotId(0), credits: 13 }] }),
    );
    expect(differences.map(({ recorded }) => recorded)).toContain(
      "the lots' available do not add up to the account's",
    );
  });

  test('replay reports an event that is missing, and one that was put in', () => {
    const without = story.filter((_, index) => index !== 4);
    const twice = [...story.slice(0, 5), ...story.slice(4)];
    expect(replay('usr_1', without).verified).toBe(false);
    expect(replay('usr_1', twice).verified).toBe(false);
  });

  test('replay reports a revocation that the end of the ledger leaves undone', () => {
    const bus = createBus();
    play(
      [
        { do: 'grant', lot: 0, credits: 14 },
        { do: 'reserve', run: 1, credits: 14 },
        { do: 'clawback', lot: 0, ref: 0, share: 100, cause: 'dispute', owes: true },
        { do: 'release', run: 1 },
      ],
      -1,
      bus,
    );
    const recorded = recordedAs(bus.log);
    expect(replay('usr_1', recorded).verified).toBe(true);
    const cutShort = replay('usr_1', recorded.slice(0, -1));
    expect(cutShort.differences).toMatchObject([{ position: null, recorded: 'LotRevoked is due' }]);
  });

  test('replay names the figures in which a stored row differs', () => {
    const { balance } = replay('usr_1', story);
    expect(balanceDifferences(null, balance, balance)).toEqual([]);
    expect(balanceDifferences(null, { ...balance, held: 3 }, balance)).toEqual([
      { position: null, what: 'balance.held', recorded: 3, recomputed: 0 },
    ]);
  });
});

describe('charges of runs', () => {
  test('what runs were charged agrees with the settlements of their conclusions', () => {
    fc.assert(
      fc.property(anySteps, (steps) => {
        const bus = createBus();
        play(steps, -1, bus);
        const recorded = recordedAs(bus.log);
        expect(settlementDifferences(recorded, settlementsOf(recorded))).toEqual([]);
      }),
      { numRuns: 50 },
    );
  });

  test('a charge is reported where a conclusion says something else, or nothing', () => {
    const other: Settlement = { kind: 'capture', capture: 14, refund: 4 };
    expect(settlementDifferences(story, new Map([[runId(1), other]]))).toEqual([
      {
        position: story[3]?.position,
        what: `settlement of ${runId(1)}`,
        recorded: 'capture 14, refund 7',
        recomputed: 'capture 14, refund 4',
      },
    ]);
    expect(settlementDifferences(story, new Map())).toMatchObject([
      { recomputed: 'not concluded' },
    ]);
  });

  test('a reservation that ended twice is reported', () => {
    const twice = [...story.slice(0, 4), ...story.slice(3)];
    const found = settlementDifferences(twice, settlementsOf(story));
    expect(found.map(({ what }) => what)).toEqual([`second settlement of ${runId(1)}`]);
  });
});

describe('recorded events', () => {
  test('recorded events are taken from the store with their position and time', () => {
    const [first] = story;
    if (!first) throw new Error('The story is empty');
    const { type, data } = first.event;
    const stored = {
      streamId: 'credits-usr_1',
      streamPosition: 1,
      transactionId: '5',
      globalPosition: '100',
      messageId: 'm',
      type,
      data,
      metadata: { occurredAt: first.at },
    };
    expect(recordedCreditEvents([stored])).toEqual([first]);
    expect(() => recordedCreditEvents([{ ...stored, type: 'CreditsMelted' }])).toThrow(
      'CreditsMelted',
    );
  });
});

describe('trial balances', () => {
  test('the trial balances of several users add up, balanced when each is', () => {
    const one = replay('usr_1', story).trial_balance;
    expect(addTrialBalances([one, one])).toMatchObject({ granted: 110, balanced: true });
    expect(addTrialBalances([one, { ...one, balanced: false }]).balanced).toBe(false);
  });
});
