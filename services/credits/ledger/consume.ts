import type { CommandBus } from '#services/platform/command.ts';
import { notFound } from '#services/platform/http/http.ts';
import { ErasedKeyError } from '#services/platform/seal.ts';
import type { Sealer } from '#services/platform/seal.ts';
import { creditAccount } from '#services/credits/account/account.ts';
import type { CreditCommand } from '#services/credits/account/account.ts';
import type { AccountBalance } from '#services/credits/account/events.ts';
import { creditStream } from '#services/credits/account/events.ts';

/** Credits of one person that another service uses. `commandId` makes a repeat the same use. */
export type Consumption = {
  consumptionId: string;
  userId: string;
  credits: number;
  /** In the service's words; sealed under the account's key. */
  reason: string;
  /** The service's id. */
  actor: string;
  commandId: string;
  fingerprint: string;
};

/** The account after it; of a repeat, as it was after the first time. */
export type Consumed = { balance: AccountBalance; repeated: boolean };

/** @throws Problem 402 `insufficient-credits` or `debt`, 404 and 409 `account-closed` */
export type ConsumeCredits = (consumption: Consumption) => Promise<Consumed>;

export function createConsumeCredits(bus: CommandBus, sealer: Sealer): ConsumeCredits {
  return async ({ consumptionId, userId, credits, reason, actor, commandId, fingerprint }) => {
    const command: CreditCommand = {
      type: 'Consume',
      consumptionId,
      credits,
      sealed: { note: await sealNote(sealer, userId, reason) },
    };
    const { events, state, repeated } = await bus.execute(
      creditAccount,
      {
        streamId: creditStream(userId),
        command,
        commandId,
        fingerprint,
        actor,
        correlationId: consumptionId,
      },
      'http',
    );
    return { balance: events[0]?.data.balance ?? state.balance, repeated };
  };
}

/** An account whose key is gone is being erased at this moment, and nobody is to know more of it. */
async function sealNote(sealer: Sealer, userId: string, reason: string): Promise<string> {
  try {
    await sealer.createDataKey('account', userId, userId);
    return await sealer.seal(userId, { stream: creditStream(userId), field: 'note' }, reason);
  } catch (error) {
    if (error instanceof ErasedKeyError) throw notFound('There is no such user.');
    throw error;
  }
}
