import { issueServiceToken } from '#services/identity/service-tokens.ts';
import { randomUUID } from 'node:crypto';
import type { TestApp } from '#tests/support/app.ts';

/** A service that may consume credits, and its token. */
export async function issueToken(
  { core }: TestApp,
  dailyCap = 1_000,
): Promise<{ id: string; secret: string }> {
  const token = {
    name: 'A service',
    scope: 'credits:consume',
    dailyCap,
    createdBy: 'operator:test',
  } as const;
  return issueServiceToken(core.pool, token, new Date(core.clock()));
}

export async function give(
  { core }: TestApp,
  userId: string,
  credits: number,
  source: 'bonus' | 'other' = 'other',
): Promise<string> {
  await core.ledger.give({
    userId,
    credits,
    source,
    reason: 'operator',
    actor: 'operator:test',
    commandId: randomUUID(),
  });
  const { lots } = await core.ledger.readAccount(userId);
  return lots.at(-1)?.lotId ?? '';
}

export type Consume = {
  user_id?: unknown;
  credits?: unknown;
  reason?: unknown;
  [other: string]: unknown;
};

export async function consume(
  app: TestApp,
  token: string,
  body: Consume,
  key: string = randomUUID(),
): Promise<Response> {
  return app.call('/credits/consume', {
    token,
    key,
    body: { credits: 5, reason: 'A report', ...body },
  });
}
