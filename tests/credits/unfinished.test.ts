import { expect, test } from 'vitest';
import { evolve, initialState } from '#services/credits/account/state.ts';
import { decide } from '#services/credits/account/account.ts';
import type { AccountState } from '#services/credits/account/state.ts';
import type { CreditCommand } from '#services/credits/account/account.ts';
import { replay } from '#services/credits/audit/replay.ts';
import type { RecordedCreditEvent } from '#services/credits/audit/replay.ts';
import { unfinished } from '#services/credits/audit/unfinished.ts';
import type { CreditEvent } from '#services/credits/account/events.ts';
import { askBack, consume, dispute, endRefund, purchase } from '#tests/credits/account/commands.ts';

const at = '2026-11-20T08:00:00.000Z';
const minuteMs = 60_000;
const dayMs = 86_400_000;

/** All at one moment. */
function recordedAfter(...commands: CreditCommand[]): RecordedCreditEvent[] {
  const log: CreditEvent[] = [];
  let state = initialState();
  for (const command of commands) {
    const events = decide(command, state);
    state = events.reduce<AccountState>(evolve, state);
    log.push(...events);
  }
  return log.map((event, index) => ({ position: index, at, event }));
}

/** A dispute of used credits, for which thirty purchases have paid. */
const settled: readonly CreditCommand[] = [
  purchase('lot_1', 30),
  consume(30),
  dispute('lot_1', 30),
  ...Array.from({ length: 30 }, (_, index) => purchase(`lot_late_${index}`, 1)),
];
const later = Date.parse(at) + minuteMs;

test('a clawback that was interrupted while it gave back is reported, one that is still giving back is not', () => {
  const interrupted = recordedAfter(...settled, dispute('lot_1', 0));
  expect(replay('usr_1', interrupted).differences).toEqual([]);
  expect(unfinished(interrupted, later - 1)).toEqual([]);
  expect(unfinished(interrupted, later)).toEqual([
    {
      position: null,
      what: 'clawback dp_1 on lot_1',
      recorded: 'interrupted at 11 credits while it gave back',
      recomputed: 'done with, at 0 at most',
    },
  ]);
  expect(
    unfinished(recordedAfter(...settled, dispute('lot_1', 0), dispute('lot_1', 0)), later),
  ).toEqual([]);
});

test('a clawback that no longer owes and has left a debt is reported', () => {
  const frozen = recordedAfter(...settled, dispute('lot_1', 30, { owes: false }));
  expect(unfinished(frozen, later)).toHaveLength(1);
  expect(unfinished(recordedAfter(...settled), later)).toEqual([]);
});

test('a refund that is pending for more than thirty days is reported', () => {
  const asked = askBack('ref_1', 'lot_1', { requestedAt: at });
  const month = Date.parse(at) + 30 * dayMs;
  const pending = recordedAfter(purchase('lot_1', 20), asked);
  expect(unfinished(pending, month)).toEqual([]);
  expect(unfinished(pending, month + 1)).toEqual([
    {
      position: null,
      what: 'refund ref_1',
      recorded: `pending since ${at}`,
      recomputed: 'over within 30 days',
    },
  ]);
  for (const outcome of ['confirmed', 'failed'] as const) {
    const ended = endRefund('ref_1', outcome);
    expect(unfinished(recordedAfter(purchase('lot_1', 20), asked, ended), month + 1)).toEqual([]);
  }
});
