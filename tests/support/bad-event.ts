import { randomUUID } from 'node:crypto';
import { appendInto } from './append.ts';
import type { TestDatabase } from './database.ts';

/** An event that no command would write: its cost is not a number. */
export async function appendBadCall(
  { ownerPool }: TestDatabase,
  streamId = 'optimization-opt_bad',
): Promise<{ streamId: string; messageId: string }> {
  const messageId = randomUUID();
  const data = { slot: 'opinion.first', attempt: 1, costMicros: 'much' };
  const client = await ownerPool.connect();
  try {
    const event = { id: messageId, type: 'CallSucceeded', data } as never;
    await appendInto(client, { streamId, expected: 0, events: [event] });
  } finally {
    client.release();
  }
  return { streamId, messageId };
}

/** Stands in for a corrected statement, because a test cannot change the code. */
export async function repairBadCall({ ownerPool }: TestDatabase): Promise<void> {
  await ownerPool.query(
    `update emt_messages set message_data = message_data || '{"costMicros": 7}'
     where message_data ->> 'costMicros' = 'much'`,
  );
}
