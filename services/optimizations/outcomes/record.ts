import { randomUUID } from 'node:crypto';
import { newestResult, readChain } from '#projections/optimization-list.ts';
import type { OutcomeRequest } from '#services/optimizations/contract/outcomes.ts';
import { executeOn, isoNow, sealedText } from '#services/optimizations/commands.ts';
import type { CommandDependencies } from '#services/optimizations/commands.ts';
import type { ReadRun } from '#services/optimizations/reading/read-run.ts';
import type { FieldsOf } from '#services/optimizations/reading/view.ts';
import type { AskedDay } from '#services/optimizations/run/events.ts';
import { keyOf } from '#services/optimizations/run/key.ts';
import { tooSoon } from '#services/optimizations/run/optimization.ts';
import { isAsked } from '#services/optimizations/run/outcomes.ts';
import { dismiss } from './questions.ts';
import { notFound } from '#services/platform/http/http.ts';
import type { Queryable } from '#db/connect.ts';
import { Problem } from '#services/platform/problem.ts';
import type { Sealer } from '#services/platform/seal.ts';

/** Records what its owner says came of a run that is no refinement. Saying the same again changes nothing. */
export async function recordOutcome(
  dependencies: CommandDependencies & { pool: Queryable; sealer: Sealer; readRun: ReadRun },
  { runId, userId, asked }: { runId: string; userId: string; asked: AskedDay },
  { did, happened }: OutcomeRequest,
): Promise<void> {
  const { pool, sealer, bus, readRun } = dependencies;
  const result = await readNewest(pool, runId);
  const run = await readRun(runId, () => outcomesAlone);
  if (run === null || run.state.stage === 'none') throw notFound('Failed to get optimization');
  const command = {
    type: 'RecordOutcome',
    now: isoNow(dependencies),
    asked,
    happened,
    did: await sealedText(sealer, { runId, keyId: keyOf(runId, run.state), field: 'did' }, did),
    same: run.view.outcomes[asked]?.did === did,
    result,
  } as const;
  const commandId = randomUUID();
  const request = { command, commandId, fingerprint: commandId, actor: userId };
  await executeOn(bus, runId, request, 'http');
}

/**
 * Puts a question off.
 *
 * @throws Problem 409 `no-result`, or `too-soon` before its day
 */
export async function dismissQuestion(
  { pool, clock }: { pool: Queryable; clock: () => number },
  { runId, userId, asked }: { runId: string; userId: string; asked: AskedDay },
): Promise<void> {
  const { endedAt } = await readNewest(pool, runId);
  const now = clock();
  if (!isAsked(endedAt, asked, new Date(now).toISOString())) throw tooSoon(endedAt, asked);
  await dismiss(pool, { runId, asked, userId, now });
}

/** @throws Problem 409 `no-result` */
async function readNewest(
  pool: Queryable,
  rootId: string,
): Promise<{ runId: string; endedAt: string }> {
  const chain = await readChain(pool, rootId);
  const newest = chain && newestResult(chain);
  if (!newest || newest.ended_at === null)
    throw new Problem('no-result', 'This run has no result.');
  return { runId: newest.run_id, endedAt: newest.ended_at };
}

/** Nothing else of the run is opened. */
const outcomesAlone: FieldsOf = (event) => (event.type === 'OutcomeRecorded' ? ['did'] : []);
