import type pg from 'pg';
import type { StreamEvents } from '#db/streams.ts';
import { allRunsOf } from '#projections/optimization-list.ts';
import type { ExportPart, ExportRow } from '#services/platform/export.ts';
import { IntegrityError } from '#services/platform/seal.ts';
import type { Sealer } from '#services/platform/seal.ts';
import { describeRun } from './describe.ts';
import {
  createReadRun,
  foldRun,
  occurredAt,
  openTexts,
  previousOf,
  runEventOf,
} from './read-run.ts';
import { withTicks } from './next-steps.ts';
import { streamOf } from '#services/optimizations/run/events.ts';

export type RunExportDependencies = {
  pool: pg.Pool;
  sealer: Sealer;
  readStream: (streamId: string) => Promise<StreamEvents>;
  clock: () => number;
};

const tables = {
  runs: [
    'id',
    'title',
    'challenge',
    'context',
    'objectives',
    'constraints',
    'files',
    'challenge_type',
    'strategy',
    'root_id',
    'refinement_number',
    'status',
    'price',
    'charged',
    'refunded',
    'cost_usd',
    'agreement_score',
    'created_at',
    'ended_at',
    'hidden',
    'result',
    'outcomes',
  ],
  /** Every text that was written in a run: the question, answers, reviews, drafts, checks. */
  run_texts: ['run_id', 'position', 'at', 'slot', 'model', 'field', 'text'],
  run_events: ['run_id', 'position', 'at', 'type', 'data'],
} as const;

/** A user's runs, including hidden ones: the question, the text of every model, the result. */
export function runExport(dependencies: RunExportDependencies): ExportPart {
  return {
    tables,
    async *rows(userId) {
      for (const runId of await allRunsOf(dependencies.pool, userId))
        yield* runRows(dependencies, runId);
    },
  };
}

async function* runRows(
  { pool, readStream, clock, ...dependencies }: RunExportDependencies,
  runId: string,
): AsyncGenerator<readonly [string, ExportRow]> {
  const sealer = forgiving(dependencies.sealer);
  const { events } = await readStream(streamOf(runId));
  const texts = await Promise.all(events.map(async (event) => openTexts(sealer, event)));
  const previous = previousOf(events[0]);
  const base = previous === null ? null : await createReadRun({ readStream, sealer })(previous);
  const run = foldRun(
    runId,
    events.map((recorded, index) => ({
      event: runEventOf(recorded),
      position: recorded.streamPosition,
      at: occurredAt(recorded),
      texts: texts[index] ?? {},
    })),
    base,
  );
  if (!run) return;
  const { view } = run;
  const described = await withTicks(pool, describeRun(view, clock()));
  yield [
    'runs',
    {
      ...described,
      title: view.title,
      challenge: view.challenge,
      context: view.context,
      price: described.credits.price,
      charged: described.credits.charged,
      refunded: described.credits.refunded,
      cost_usd: described.cost,
      hidden: view.hidden,
    },
  ];
  for (const [index, recorded] of events.entries()) {
    const { sealed: _, ...data } = recorded.data;
    const place = { run_id: runId, position: recorded.streamPosition, at: occurredAt(recorded) };
    yield ['run_events', { ...place, type: recorded.type, data }];
    for (const [field, text] of Object.entries(texts[index] ?? {}))
      yield ['run_texts', { ...place, slot: data['slot'], model: data['answeredBy'], field, text }];
  }
}

/** A text that was damaged reads like an erased one: it must not keep a person from everything else. */
function forgiving({ open }: Pick<Sealer, 'open'>): Pick<Sealer, 'open'> {
  return {
    open: async (sealed, context) =>
      open(sealed, context).catch((error: unknown) => {
        if (error instanceof IntegrityError) return { erased: true };
        throw error;
      }),
  };
}
