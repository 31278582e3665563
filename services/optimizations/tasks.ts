import type { Task } from 'graphile-worker';
import type pg from 'pg';
import * as v from 'valibot';
import type { Ledger } from '#services/credits/ledger/ledger.ts';
import type { Audit } from '#services/platform/audit.ts';
import type { JobSpec } from '#services/platform/command.ts';
import { derivedId } from '#services/platform/ids.ts';
import type { QueueMail } from '#services/platform/mail/mail.ts';
import { ErasedKeyError } from '#services/platform/seal.ts';
import { createCallModel } from './call-task.ts';
import type { CallDependencies } from './call-task.ts';
import { actor, isoNow, issue, settleRun, startRun } from './commands.ts';
import { finishedEmail, finishedRun } from './finished-email.ts';
import { forgetQuestions } from './outcomes/questions.ts';
import { forgetTicks } from './reading/next-steps.ts';
import { forgetShares } from './sharing/rows.ts';
import type { ReadState } from './reading/read-run.ts';
import { titleAndQuestion } from './reading/view.ts';
import { deadlineLength, forgottenFrom, isLate } from './run/deadlines.ts';
import { forgetJob, settleJob } from './run/reactions.ts';
import { stageOf } from './run/slots.ts';
import type { Stage } from './run/slots.ts';
import { isOpen } from './run/state.ts';

/**
 * The jobs of a run: do the work, then issue a command with the result. Every task may run twice or
 * be killed anywhere, which is harmless because the commands' ids identify the work.
 */
export type OptimizationDependencies = CallDependencies & {
  pool: pg.Pool;
  ledger: Ledger;
  readState: ReadState;
  audit: Audit;
  queueMail: QueueMail;
  /** Of a user who wants an email when a run has ended; null for all others. */
  finishedRunAddress: (userId: string) => Promise<string | null>;
  publicUrl: string;
};

export type TaskList = Readonly<Record<string, Task>>;

/** `control` never waits for a model, so hanging calls cannot hold up a settlement. */
export function optimizationTasks(dependencies: OptimizationDependencies): {
  control: TaskList;
  calls: TaskList;
} {
  const callModel = createCallModel(dependencies);
  return {
    control: {
      'start-run': (payload) => startHeldRun(dependencies, v.parse(RunPayload, payload).runId),
      'settle-run': (payload) => settleRun(dependencies, v.parse(RunPayload, payload).runId),
      'notify-run': (payload) => notifyRun(dependencies, v.parse(RunPayload, payload).runId),
      'stage-deadline': (payload) => stageDeadline(dependencies, v.parse(StagePayload, payload)),
      'forget-run': (payload) => forgetRun(dependencies, v.parse(RunPayload, payload).runId),
      'run-deadline': (payload) => runDeadline(dependencies, v.parse(DeadlinePayload, payload)),
    },
    calls: {
      'call-model': (payload) => {
        const { runId, slot } = v.parse(CallPayload, payload);
        return callModel(runId, slot);
      },
    },
  };
}

const RunPayload = v.object({ runId: v.string() });
const CallPayload = v.object({ runId: v.string(), slot: v.string() });
const DeadlinePayload = v.object({ runId: v.string(), dueAt: v.string(), rearmed: v.boolean() });
const StagePayload = v.object({
  ...DeadlinePayload.entries,
  stage: v.picklist(['opinions', 'claims', 'reviews', 'synthesis']),
  kind: v.picklist(['soft', 'hard']),
});

async function startHeldRun(dependencies: OptimizationDependencies, runId: string): Promise<void> {
  const before = await dependencies.readState(runId);
  const after = await startRun(dependencies, runId, before, 'job');
  // The run ended before it had seen its hold: the hold must still be given back.
  if (after.stage === 'settling' || after.stage === 'closed')
    await addJob(dependencies.pool, settleJob(runId));
}

/**
 * One email when a run has ended, however often the job runs: its id is derived from the run's.
 * Nothing is sent about an erased run.
 */
async function notifyRun(dependencies: OptimizationDependencies, runId: string): Promise<void> {
  const run = await dependencies.readRun(runId, () => titleAndQuestion);
  const finished = run ? finishedRun(run.view) : null;
  if (!run || finished === null || !('userId' in run.state)) return;
  const { userId } = run.state;
  const to = await dependencies.finishedRunAddress(userId);
  if (to === null) return;
  const content = finishedEmail(finished, dependencies.publicUrl);
  const id = derivedId('mai', runId, 'finished');
  try {
    await dependencies.queueMail({ id, userId, to, kind: 'run-finished', content });
  } catch (error) {
    if (!(error instanceof ErasedKeyError)) throw error;
  }
}

/**
 * The texts of a run that has been hidden for 30 days are erased with its key. The job of a run that
 * was restored or hidden again later finds nothing to do.
 */
async function forgetRun(
  dependencies: Pick<OptimizationDependencies, 'pool' | 'readState' | 'sealer' | 'audit' | 'clock'>,
  runId: string,
): Promise<void> {
  const { pool, readState, sealer, audit } = dependencies;
  const state = await readState(runId);
  if (!('userId' in state) || state.hiddenAt === null) return;
  if (isoNow(dependencies) < forgottenFrom(state.hiddenAt)) {
    // The queue uses the clock of the database; if that is ahead of ours, the job is scheduled again.
    const later = new Date(dependencies.clock() + askAgainMs).toISOString();
    const job = forgetJob(runId, state.hiddenAt);
    await addJob(pool, { ...job, runAt: job.runAt > later ? job.runAt : later });
    return;
  }
  const { rowCount } = await pool.query('select from data_key where key_id = $1', [runId]);
  if (rowCount === 0) return;
  // Before the key is erased: a process that dies in between records it twice rather than never.
  await audit({ actor, action: 'run.forgotten', subject: runId, userId: state.userId });
  await forgetTicks(pool, runId);
  await forgetShares(pool, runId);
  await forgetQuestions(pool, runId);
  await sealer.eraseKey(runId);
}

const askAgainMs = 3_600_000;

// ── deadlines ───────────────────────────────────────────────────────────────────────────────────

async function stageDeadline(
  dependencies: OptimizationDependencies,
  payload: v.InferOutput<typeof StagePayload>,
): Promise<void> {
  const { runId, stage, kind } = payload;
  const key = `${runId}:${stage}:${kind}`;
  if (await rearmed(dependencies, 'stage-deadline', key, payload)) return;
  if (kind === 'soft' && (await isBeingWritten(dependencies.pool, runId, stage))) {
    const dueAt = new Date(dependencies.clock() + writtenWithinMs).toISOString();
    await addJob(dependencies.pool, {
      task: 'stage-deadline',
      payload: { ...payload, dueAt },
      key,
      runAt: dueAt,
    });
    return;
  }
  const now = isoNow(dependencies);
  await issue(dependencies, runId, { type: 'Deadline', stage, kind, now }, [stage, kind]);
}

/** Whether the text of an open call of the stage has grown lately: a model in mid-answer is waited for. */
async function isBeingWritten(pool: pg.Pool, runId: string, stage: Stage): Promise<boolean> {
  const { rows } = await pool.query<{ slot: string }>(
    `select slot from live_text
     where run_id = $1 and changed > clock_timestamp() - make_interval(secs => $2)`,
    [runId, writtenWithinMs / 1000],
  );
  return rows.some(({ slot }) => stageOf(slot) === stage);
}

const writtenWithinMs = 10_000;

async function runDeadline(
  dependencies: OptimizationDependencies,
  payload: v.InferOutput<typeof DeadlinePayload>,
): Promise<void> {
  const { runId } = payload;
  if (await rearmed(dependencies, 'run-deadline', `${runId}:deadline`, payload)) return;
  await issue(dependencies, runId, { type: 'RunDeadline', now: isoNow(dependencies) }, [
    'run-deadline',
  ]);
}

/**
 * A deadline that is noticed long after it was due means that no worker was running to call the
 * models. It is set once more for its full length.
 */
async function rearmed(
  dependencies: OptimizationDependencies,
  task: string,
  key: string,
  payload: v.InferOutput<typeof DeadlinePayload> & { stage?: string; kind?: string },
): Promise<boolean> {
  if (payload.rearmed || !isLate(payload.dueAt, dependencies.clock())) return false;
  const state = await dependencies.readState(payload.runId);
  if (!isOpen(state)) return false;
  const lengthMs = deadlineLength(state, payload);
  const dueAt = new Date(dependencies.clock() + lengthMs).toISOString();
  await addJob(dependencies.pool, {
    task,
    payload: { ...payload, dueAt, rearmed: true },
    key,
    runAt: dueAt,
  });
  return true;
}

/** For the jobs that no event enqueues; `reactions.ts` enqueues all others. */
export async function addJob(pool: pg.Pool, job: JobSpec): Promise<void> {
  const { task, payload, queue, runAt, key, priority } = job;
  await pool.query(
    `select graphile_worker.add_job($1, $2::json, queue_name := $3, run_at := $4::timestamptz,
       job_key := $5, priority := $6, job_key_mode := 'replace')`,
    [task, JSON.stringify(payload), queue ?? null, runAt ?? null, key, priority ?? null],
  );
}
