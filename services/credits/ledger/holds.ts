import type { Queryable } from '#db/connect.ts';
import { readState } from '#services/platform/command.ts';
import type { CommandBus } from '#services/platform/command.ts';
import type { Settlement } from '#services/optimizations/run/events.ts';
import { Problem } from '#services/platform/problem.ts';
import { creditAccount, fingerprintOf } from '#services/credits/account/account.ts';
import type { CreditCommand } from '#services/credits/account/account.ts';
import type { CreditEvent } from '#services/credits/account/events.ts';
import { creditStream } from '#services/credits/account/events.ts';
import { reserveCommandId, settleCommandId } from '#services/credits/command-ids.ts';

/** What a run asks of a person's credits: hold the price once, settle it once. */
export type Holds = {
  /**
   * @throws Problem 402 `insufficient-credits`, 402 `debt`, 403 `monthly-limit`,
   * 403 `spending-frozen`, 409 `account-closed`
   */
  reserve(hold: Price & { runId: string; actor: string }): Promise<void>;
  /** What `reserve` would be refused with now, decided by the same function; null for nothing. */
  refusal(price: Price): Promise<Problem | null>;
  /** Credits that are available now, and how many of them are bonus, which the monthly limit bounds. */
  available(userId: string): Promise<{ credits: number; bonus: number }>;
  /** The ledger's figures; asked again, the first ones. Without a hold nothing is written: all 0. */
  settle(settled: {
    userId: string;
    runId: string;
    settlement: Settlement;
    actor: string;
  }): Promise<{ captured: number; refunded: number; creditsVersion: number }>;
};

/** What a run asks of an account. */
export type Price = {
  userId: string;
  credits: number;
  /** UTC month, `2026-11`. */
  month: string;
  /** Runs a month that bonus credits may pay for; −1 is unlimited. */
  limit: number;
};

export function createHolds(bus: CommandBus, queryable: Queryable): Holds {
  return {
    async reserve({ userId, runId, credits, month, limit, actor }) {
      const command: CreditCommand = { type: 'Reserve', runId, credits, month, limit };
      await bus.execute(
        creditAccount,
        {
          streamId: creditStream(userId),
          command,
          commandId: reserveCommandId(runId),
          fingerprint: fingerprintOf(command),
          actor,
          correlationId: runId,
        },
        'http',
      );
    },
    async refusal({ userId, ...price }) {
      const state = await readState(queryable, creditAccount, creditStream(userId));
      try {
        creditAccount.decide({ type: 'Reserve', runId: '', ...price }, state);
        return null;
      } catch (error) {
        if (error instanceof Problem) return error;
        throw error;
      }
    },
    async available(userId) {
      const { balance, lots } = await readState(queryable, creditAccount, creditStream(userId));
      const bonus = lots.filter(({ source }) => source === 'bonus');
      return {
        credits: balance.available,
        bonus: bonus.reduce((sum, { available }) => sum + available, 0),
      };
    },
    async settle({ userId, runId, settlement, actor }) {
      const command: CreditCommand = { type: 'Settle', runId, settlement };
      const { events, version } = await bus.execute(
        creditAccount,
        {
          streamId: creditStream(userId),
          command,
          commandId: settleCommandId(runId),
          fingerprint: fingerprintOf(command),
          actor,
          correlationId: runId,
        },
        'job',
      );
      return {
        captured: creditsIn(events, 'CreditsCaptured'),
        refunded: creditsIn(events, 'CreditsReturned'),
        creditsVersion: version,
      };
    },
  };
}

function creditsIn(
  events: readonly CreditEvent[],
  type: 'CreditsCaptured' | 'CreditsReturned',
): number {
  return events.reduce((sum, event) => (event.type === type ? sum + event.data.credits : sum), 0);
}
