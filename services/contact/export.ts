import type pg from 'pg';
import type { ExportPart } from '#services/platform/export.ts';
import type { Sealer } from '#services/platform/seal.ts';
import { messagesOf } from './messages.ts';

const tables = {
  messages: ['id', 'reference', 'topic', 'email', 'message', 'created_at'],
} as const;

/** What the user wrote to the operator while signed in. */
export function contactExport(dependencies: { pool: pg.Pool; sealer: Sealer }): ExportPart {
  return {
    tables,
    async *rows(userId) {
      for (const { id, reference, topic, email, message, at } of await messagesOf(
        dependencies,
        userId,
      ))
        yield ['messages', { id, reference, topic, email, message, created_at: at.toISOString() }];
    },
  };
}
