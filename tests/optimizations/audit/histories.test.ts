import fc from 'fast-check';
import { expect, test } from 'vitest';
import { chainHash, firstHash } from '#db/chain.ts';
import { auditOf } from '#services/optimizations/audit/audit.ts';
import { lineOf } from '#services/optimizations/audit/check.ts';
import type {
  AuditedRun,
  CreditEntry,
  StoredEvent,
} from '#services/optimizations/audit/evidence.ts';
import { runEventOf } from '#services/optimizations/reading/read-run.ts';
import { runIdOf } from '#services/optimizations/run/events.ts';
import { live } from '#tests/optimizations/run/world.ts';
import type { Append, World } from '#tests/optimizations/run/world.ts';
import { isProof } from '#tests/support/properties.ts';

/**
 * Every history that the deciders can produce, under crashes, races and late answers, is found right:
 * a check that is stricter than the product would accuse an honest run.
 */
const runs = isProof ? 1_000 : 20;

test(
  'no run of any world is accused of anything, and nearly all checks meet their subject',
  { timeout: 60_000 + runs * 1_000 },
  async () => {
    const met = new Set<string>();
    const audited = async (seed: number) => {
      for (const evidence of evidenceOf(live({ seed }))) {
        const { checks } = await auditOf(evidence);
        expect([seed, checks.filter(({ equal }) => !equal).map(lineOf)]).toEqual([seed, []]);
        for (const { name } of checks) met.add(name.replace(/ of opt_.*|\d+$/, ''));
      }
    };
    const seeds = fc.noShrink(fc.integer({ min: 0, max: 2 ** 31 - 1 }));
    await fc.assert(fc.asyncProperty(seeds, audited), { numRuns: runs, seed: 20_261_124 });
    expect([...met]).toEqual(
      expect.arrayContaining([
        'answers, their shuffled order, and the labels of each reviewer',
        'claims and options',
        'what the vote decided',
        'judgment of draft ',
        'conclusion and heading',
        'settlement',
        'credits captured and returned',
        'votes, claims and order that it starts from',
      ]),
    );
  },
);

function evidenceOf({ log }: World) {
  const streams = Map.groupBy(log, ({ streamId }) => streamId);
  const stored = new Map([...streams].map(([id, appends]) => [id, chained(id, appends)]));
  const ofRuns = [...stored].filter(([id]) => id.startsWith('optimization-'));
  const all = new Map(ofRuns.map(([id, events]) => [runIdOf(id), { runId: runIdOf(id), events }]));
  const credits = [...stored].flatMap(([id, events]) =>
    id.startsWith('credits-') ? events.flatMap(entryOf) : [],
  );
  return [...all.values()].map((run) => ({
    runs: withBases(run, all),
    credits,
    anchors: [],
    texts: 'sealed' as const,
    opened: [],
    prompts: [],
    macKey: null,
    promptVersion: 1,
  }));
}

function chained(streamId: string, appends: readonly Append[]): StoredEvent[] {
  let hash = firstHash;
  return appends
    .flatMap(({ events }) => events)
    .map(({ type, data }, index) => {
      const event = { messageId: `m${index}`, type, data: plain(data) };
      hash = chainHash(hash, { stream: streamId, version: index + 1, ...event, metadata: {} });
      return { streamId, streamPosition: index + 1, ...event, metadata: { hash } };
    });
}

/** As a database gives it back. */
function plain(data: object): Record<string, unknown> {
  return JSON.parse(JSON.stringify(data)) as Record<string, unknown>;
}

function entryOf({ type, data, streamPosition, metadata }: StoredEvent): CreditEntry[] {
  const { runId, credits } = data;
  return typeof runId === 'string'
    ? [
        {
          runId,
          position: streamPosition,
          type,
          credits: Number(credits),
          at: '',
          hash: String(metadata['hash']),
        },
      ]
    : [];
}

function withBases(run: AuditedRun, all: ReadonlyMap<string, AuditedRun>): AuditedRun[] {
  const created = runEventOf(run.events[0]!);
  const previous =
    created.type === 'OptimizationCreated' ? created.data.refines?.previous : undefined;
  const base = previous === undefined ? undefined : all.get(previous);
  return base === undefined ? [run] : [...withBases(base, all), run];
}
