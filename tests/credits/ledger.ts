import { randomBytes } from 'node:crypto';
import type pg from 'pg';
import { readStream } from '#db/streams.ts';
import { createLedger } from '#services/credits/ledger/ledger.ts';
import type { Ledger } from '#services/credits/ledger/ledger.ts';
import type { CommandBus } from '#services/platform/command.ts';
import { createSealer } from '#services/platform/seal.ts';

/** The ledger over a bus of a test. */
export function ledgerOf(pool: pg.Pool, bus: CommandBus, clock: () => number = Date.now): Ledger {
  return createLedger({
    bus,
    pool,
    clock,
    sealer: createSealer({ dataKeys: [randomBytes(32)], pool }),
    readStream: async (streamId) => readStream(pool, streamId),
  });
}
