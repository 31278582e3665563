import type { CommandBus } from '#services/platform/command.ts';
import { creditAccount, fingerprintOf } from '#services/credits/account/account.ts';
import type { CreditCommand } from '#services/credits/account/account.ts';
import type { ClosingReason } from '#services/credits/account/events.ts';
import { closeCommandId } from '#services/credits/command-ids.ts';
import { creditStream } from '#services/credits/account/events.ts';

/** Closes a person's account for good. Asked again it changes nothing. */
export type CloseAccount = (closing: {
  userId: string;
  reason: ClosingReason;
  actor: string;
}) => Promise<{
  /** Credits that runs still hold; they settle as they would have. */
  held: number;
}>;

export function createCloseAccount(bus: CommandBus): CloseAccount {
  return async ({ userId, reason, actor }) => {
    const command: CreditCommand = { type: 'CloseAccount', reason };
    const commandId = closeCommandId(userId);
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
      'job',
    );
    return { held: state.balance.held };
  };
}
