import type { CommandBus } from '#services/platform/command.ts';
import { newId } from '#services/platform/ids.ts';
import { creditAccount, fingerprintOf } from '#services/credits/account/account.ts';
import type { CreditCommand } from '#services/credits/account/account.ts';
import type { AccountBalance } from '#services/credits/account/events.ts';
import { creditStream } from '#services/credits/account/events.ts';

/** Credits that nobody bought. `commandId` makes a repeat the same grant. */
export type Gift = {
  userId: string;
  credits: number;
  source: 'bonus' | 'other';
  reason: 'demo' | 'operator';
  actor: string;
  commandId: string;
  /** Sealed under the account's key, field `note`. */
  note?: string;
  lotId?: string;
};

export type GiveCredits = (gift: Gift) => Promise<AccountBalance>;

export function createGiveCredits(bus: CommandBus, clock: () => number): GiveCredits {
  return async ({ userId, credits, source, reason, actor, commandId, note, lotId }) => {
    const command: CreditCommand = {
      type: 'Grant',
      lotId: lotId ?? newId('lot', clock()),
      credits,
      source,
      paidMinor: null,
      currency: null,
      paymentKey: null,
      grantedAt: new Date(clock()).toISOString(),
      reason,
      ...(note === undefined ? {} : { sealed: { note } }),
    };
    const { state } = await bus.execute(
      creditAccount,
      {
        streamId: creditStream(userId),
        command,
        commandId,
        fingerprint: fingerprintOf(command),
        actor,
        correlationId: commandId,
      },
      'http',
    );
    return state.balance;
  };
}
