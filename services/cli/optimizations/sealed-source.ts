import { proveAnchored } from '#db/anchors.ts';
import { readEventsAbout, readStoredStream } from '#db/streams.ts';
import { creditStream } from '#services/credits/account/events.ts';
import type { GatherDependencies } from '#services/optimizations/audit/gather.ts';
import type { AuditedDatabase, Reading } from '#services/cli/database.ts';

/** Where the evidence of a run is read. An auditor has no keys and gathers it sealed. */
export function sourceOf(database: Reading): GatherDependencies & Pick<Reading, 'clock'> {
  return database.ownerPool === null ? sealedSource(database) : database;
}

function sealedSource({
  pool,
  clock,
}: AuditedDatabase): GatherDependencies & Pick<Reading, 'clock'> {
  return {
    clock,
    readStoredStream: async (streamId) => readStoredStream(pool, streamId),
    readRunCredits: async (userId, runIds) =>
      readEventsAbout(pool, creditStream(userId), 'runId', runIds),
    proveAnchored: async (streamId) => proveAnchored(pool, streamId),
    sealer: {
      open: async () => Promise.reject(new Error('An auditor opens no text')),
      // Only whether there is one counts here: a key that was not erased exists.
      macKey: async (keyId) => {
        const { rowCount } = await pool.query('select from erasure where key_id = $1', [keyId]);
        return rowCount === 0 ? '' : null;
      },
    },
  };
}
