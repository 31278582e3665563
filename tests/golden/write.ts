import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { chainHash, firstHash } from '#db/chain.ts';
import type { RecordedEvent } from '#db/recorded-event.ts';
import { decide, fingerprintOf } from '#services/credits/account/account.ts';
import type { CreditCommand } from '#services/credits/account/account.ts';
import { creditStream } from '#services/credits/account/events.ts';
import { evolve, initialState } from '#services/credits/account/state.ts';
import { streamOf } from '#services/optimizations/run/events.ts';
import { uuidV5 } from '#services/platform/ids.ts';
import { live } from '#tests/optimizations/run/world.ts';
import type { Append } from '#tests/optimizations/run/world.ts';

/**
 * Writes the golden files that are missing, `node tests/golden/write.ts <number of the set> [name]`: one
 * stream a file, one event a line, as the deciders decide them today. With a name only that stream is
 * written. From 0.1 on a file is never written again.
 */
type GoldenEvent = Omit<RecordedEvent, 'transactionId' | 'globalPosition'>;

const [, , set = '1', only] = process.argv;
const noon = Date.parse('2026-11-20T12:00:00.000Z');
const at = (day: number) => new Date(noon + day * 86_400_000).toISOString();

function write(name: string, appends: readonly Append[], fingerprints: readonly string[] = []) {
  if (only !== undefined && only !== name) return;
  const lines = stored(appends, fingerprints).map((event) => JSON.stringify(event));
  const file = join(import.meta.dirname, `${name}-${set}.jsonl`);
  if (!existsSync(file)) writeFileSync(file, `${lines.join('\n')}\n`);
}

/** The events with the metadata and the hash chain that a command gives them. */
function stored(appends: readonly Append[], fingerprints: readonly string[]): GoldenEvent[] {
  let hash = firstHash;
  let version = 0;
  return appends.flatMap(({ streamId, events }, index) => {
    const commandId = uuidV5(streamId, index);
    const metadata = {
      schemaVersion: 1,
      commandId,
      fingerprint: fingerprints[index] ?? commandId,
      correlationId: commandId,
      causationId: null,
      actor: 'job:golden',
      occurredAt: new Date(noon + index * 60_000).toISOString(),
    };
    return events.map(({ type, data }, place) => {
      const messageId = uuidV5(commandId, place);
      version += 1;
      hash = chainHash(hash, { stream: streamId, version, messageId, type, data, metadata });
      const position = { streamId, streamPosition: version };
      return { ...position, messageId, type, data, metadata: { ...metadata, hash } };
    });
  });
}

// --- accounts ---

const purchase = (lotId: string, credits: number): CreditCommand => ({
  type: 'Grant',
  lotId,
  credits,
  source: 'purchase',
  paidMinor: credits * 50,
  currency: 'usd',
  paymentKey: `pi:${lotId}`,
  purchaseId: `pur_${lotId}`,
  grantedAt: at(0),
  reason: 'boost-20',
});

const gift = (lotId: string, source: 'bonus' | 'other', credits: number): CreditCommand => ({
  type: 'Grant',
  lotId,
  credits,
  source,
  paidMinor: null,
  currency: null,
  paymentKey: null,
  grantedAt: at(0),
  reason: source === 'bonus' ? 'onboarding' : 'operator',
  sealed: { note: 'v1.key.nonce.note' },
});

const reserve = (runId: string, credits: number, keyId?: string): CreditCommand => ({
  type: 'Reserve',
  runId,
  credits,
  month: '2026-11',
  limit: -1,
  ...(keyId === undefined ? {} : { apiKey: { id: keyId, cap: 60 } }),
});

const capture = (runId: string, credits: number, refund: number): CreditCommand => ({
  type: 'Settle',
  runId,
  settlement: { kind: 'capture', capture: credits, refund },
});

const release = (runId: string): CreditCommand => ({
  type: 'Settle',
  runId,
  settlement: { kind: 'release' },
});

const consume = (credits: number): CreditCommand => ({
  type: 'Consume',
  consumptionId: `con_${credits}`,
  credits,
  sealed: { note: 'v1.key.nonce.note' },
});

const dispute = (lotId: string, wanted: number, owes = true): CreditCommand => ({
  type: 'SetClawback',
  lotId,
  ref: `dp_${lotId}`,
  cause: 'dispute',
  wanted,
  owes,
});

const askBack = (refundId: string, lotId: string): CreditCommand => ({
  type: 'RequestRefund',
  refundId,
  lotId,
  requestedAt: at(1),
  reason: 'customer',
});

const endRefund = (refundId: string, outcome: 'confirmed' | 'failed'): CreditCommand => ({
  type: 'EndRefund',
  refundId,
  outcome,
  providerRefundId: `re_${refundId}`,
  at: at(2),
});

const accounts: Readonly<Record<string, readonly CreditCommand[]>> = {
  'credits-spending': [
    gift('lot_bonus', 'bonus', 50),
    gift('lot_gift', 'other', 10),
    purchase('lot_bought', 40),
    reserve('opt_1', 14),
    capture('opt_1', 14, 0),
    reserve('opt_2', 30),
    capture('opt_2', 30, 15),
    reserve('opt_3', 40),
    release('opt_3'),
    consume(35),
    { type: 'CloseAccount', reason: 'erasure' },
  ],
  // By 2 keys of a cap of 60 each: what the first gets back is free for its last run.
  'credits-keys': [
    purchase('lot_of_keys', 200),
    reserve('opt_1', 14, 'key_first'),
    release('opt_1'),
    reserve('opt_2', 30, 'key_first'),
    capture('opt_2', 30, 15),
    reserve('opt_3', 20, 'key_second'),
    capture('opt_3', 20, 0),
    reserve('opt_4', 45, 'key_first'),
  ],
  'credits-refunds': [
    purchase('lot_refunded', 20),
    askBack('ref_1', 'lot_refunded'),
    endRefund('ref_1', 'failed'),
    askBack('ref_2', 'lot_refunded'),
    endRefund('ref_2', 'confirmed'),
    endRefund('ref_2', 'failed'),
    endRefund('ref_1', 'confirmed'),
    endRefund('ref_1', 'failed'),
    askBack('ref_3', 'lot_refunded'),
    endRefund('ref_3', 'confirmed'),
  ],
  'credits-disputes': [
    purchase('lot_first', 20),
    consume(6),
    reserve('opt_1', 10),
    dispute('lot_first', 20, false),
    dispute('lot_first', 20),
    capture('opt_1', 10, 4),
    dispute('lot_first', 18),
    dispute('lot_first', 20),
    purchase('lot_second', 30),
    dispute('lot_second', 30),
    dispute('lot_first', 0),
    dispute('lot_second', 5),
    dispute('lot_second', 0),
    {
      type: 'FreezeSpending',
      ref: 'dp_3',
      lotId: 'lot_first',
      overpaidMinor: 500,
      currency: 'usd',
    },
    { type: 'UnfreezeSpending' },
  ],
};

function writeAccount(name: string, commands: readonly CreditCommand[]): void {
  const streamId = creditStream(`usr_${name.slice('credits-'.length)}`);
  let state = initialState();
  const appends = commands.map((command) => {
    const events = decide(command, state);
    state = events.reduce(evolve, state);
    return { streamId, events };
  });
  write(name, appends, commands.map(fingerprintOf));
}

// --- runs ---

const ends = {
  OptimizationCompleted: 'run-completed',
  OptimizationCancelled: 'run-cancelled',
  OptimizationFailed: 'run-failed',
} as const;

/** Of many random runs those that hold the most types of events, one for each end. */
function writeRuns(): void {
  const best = new Map<string, { types: number; appends: readonly Append[] }>();
  for (let seed = 1; seed <= 400; seed += 1) {
    const runs = Map.groupBy(live({ seed }).log, ({ streamId }) => streamId);
    for (const [streamId, appends] of runs) {
      if (!streamId.startsWith('optimization-')) continue;
      const types = new Set(appends.flatMap(({ events }) => events.map(({ type }) => type)));
      for (const [end, name] of Object.entries(ends))
        if (types.has(end as keyof typeof ends) && types.size > (best.get(name)?.types ?? 0))
          best.set(name, { types: types.size, appends });
    }
  }
  for (const [name, { appends }] of best) {
    const streamId = streamOf(`opt_${name.slice('run-'.length)}`);
    write(
      name,
      appends.map(({ events }) => ({ streamId, events })),
    );
  }
}

/** The first random run whose owner said on both days what came of it, and corrected one. */
function writeOutcomes(): void {
  for (let seed = 1; seed <= 400; seed += 1) {
    const runs = Map.groupBy(live({ seed }).log, ({ streamId }) => streamId);
    for (const appends of runs.values()) {
      const said = appends
        .flatMap(({ events }) => events)
        .flatMap((event) => (event.type === 'OutcomeRecorded' ? [event.data.asked] : []));
      if (said.length <= 2 || new Set(said).size < 2) continue;
      const streamId = streamOf('opt_outcomes');
      write(
        'run-outcomes',
        appends.map(({ events }) => ({ streamId, events })),
      );
      return;
    }
  }
}

for (const [name, commands] of Object.entries(accounts)) writeAccount(name, commands);
writeRuns();
writeOutcomes();
