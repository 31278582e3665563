import type { Task } from 'graphile-worker';
import pLimit from 'p-limit';
import type { LimitFunction } from 'p-limit';
import type pg from 'pg';
import * as v from 'valibot';
import type { Holds } from '#services/credits/ledger/holds.ts';
import type { LiveTextWriter } from '#services/live/live-text.ts';
import { createReadable } from '#services/live/readable.ts';
import { costMicros } from '#services/models/catalogue.ts';
import { ModelFailure, unknownUsage } from '#services/models/model.ts';
import type { ModelReply, Provider, UsageRecord } from '#services/models/model.ts';
import type { ModelRegistry } from '#services/models/registry.ts';
import { strategyOf } from '#services/models/strategies.ts';
import type { Audit } from '#services/platform/audit.ts';
import type { CommandBus, JobSpec } from '#services/platform/command.ts';
import { derivedId, uuidV5 } from '#services/platform/ids.ts';
import type { Log } from '#services/platform/process/log.ts';
import type { QueueMail } from '#services/platform/mail/mail.ts';
import { ErasedKeyError } from '#services/platform/seal.ts';
import type { Sealer } from '#services/platform/seal.ts';
import { fieldsOfPrompt, prepareCall, TextErased } from './prompts/calls.ts';
import type { CheckedCall, PreparedCall } from './prompts/calls.ts';
import { deadlineLength, forgottenFrom, isLate, timeLeft } from './run/deadlines.ts';
import type { OptimizationEvent, Slot } from './run/events.ts';
import { finishedEmail, finishedRun } from './finished-email.ts';
import type { OpenCalls } from './open-calls.ts';
import { optimization } from './run/optimization.ts';
import type { CallResult, OptimizationCommand } from './run/optimization.ts';
import type { RunState } from './run/state.ts';
import { nextAttempt } from './run/owed.ts';
import { forgetJob, settleJob } from './run/reactions.ts';
import { modelOf } from './run/slots.ts';
import type { OpenRun, ReadRun, ReadState } from './reading/read-run.ts';
import { fieldsOfView } from './reading/view.ts';
import type { FieldsOf } from './reading/view.ts';
import { streamOf } from './run/events.ts';

/**
 * The jobs of a run: do the work, then issue a command with the result. Every task may run twice or
 * be killed anywhere; what makes that harmless is in the commands, whose ids name the thing done.
 */
export type OptimizationDependencies = {
  pool: pg.Pool;
  bus: CommandBus;
  holds: Holds;
  readRun: ReadRun;
  readState: ReadState;
  sealer: Sealer;
  audit: Audit;
  registry: ModelRegistry;
  queueMail: QueueMail;
  /** Of a person who wants a mail when a run has ended; null for everybody else. */
  finishedRunAddress: (userId: string) => Promise<string | null>;
  publicUrl: string;
  liveText: LiveTextWriter;
  openCalls: OpenCalls;
  /** Milliseconds since the epoch. */
  clock: () => number;
  log: Log;
  /** Calls under way to one provider at a time, in this process. */
  callsPerProvider: number;
};

export type TaskList = Readonly<Record<string, Task>>;

/** `control` never waits for a model, so hanging calls cannot hold up a settlement. */
export function optimizationTasks(dependencies: OptimizationDependencies): {
  control: TaskList;
  calls: TaskList;
} {
  const caps = new Map<string, LimitFunction>();
  const capOf = (provider: string) => {
    const cap = caps.get(provider) ?? pLimit(dependencies.callsPerProvider);
    caps.set(provider, cap);
    return cap;
  };
  return {
    control: {
      'start-run': (payload) => startRun(dependencies, v.parse(RunPayload, payload).runId),
      'settle-run': (payload) => settleRun(dependencies, v.parse(RunPayload, payload).runId),
      'notify-run': (payload) => notifyRun(dependencies, v.parse(RunPayload, payload).runId),
      'stage-deadline': (payload) => stageDeadline(dependencies, v.parse(StagePayload, payload)),
      'forget-run': (payload) => forgetRun(dependencies, v.parse(RunPayload, payload).runId),
      'run-deadline': (payload) => runDeadline(dependencies, v.parse(DeadlinePayload, payload)),
    },
    calls: {
      'call-model': (payload) => {
        const { runId, slot } = v.parse(CallPayload, payload);
        return callModel(dependencies, capOf, runId, slot);
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

/** The system as the actor of what jobs do. */
const actor = 'system:worker';

export async function issue(
  { bus }: Pick<OptimizationDependencies, 'bus'>,
  runId: string,
  command: OptimizationCommand,
  idParts: readonly (string | number)[],
  patience: 'http' | 'job' = 'job',
) {
  const commandId = uuidV5(runId, ...idParts);
  return bus.execute<RunState, OptimizationCommand, OptimizationEvent>(
    optimization,
    {
      streamId: streamOf(runId),
      command,
      commandId,
      // The id names the one thing that is done; the clock in the command may differ from try to try.
      fingerprint: commandId,
      actor,
      correlationId: runId,
    },
    patience,
  );
}

// ── start and settle ────────────────────────────────────────────────────────────────────────────

async function startRun(dependencies: OptimizationDependencies, runId: string): Promise<void> {
  const { state } = await issueStart(dependencies, runId, 'job');
  // The run ended before its hold was known to it: the hold must still be given back.
  if (state.stage === 'settling' || state.stage === 'closed')
    await addJob(dependencies.pool, settleJob(runId));
}

/** Starts a run whose credits are held; the API does it at once, the reserve's job again. */
export async function issueStart(
  dependencies: Pick<OptimizationDependencies, 'bus' | 'pool' | 'registry' | 'clock'>,
  runId: string,
  patience: 'http' | 'job',
): Promise<{ state: RunState }> {
  const snapshot = await dependencies.pool.query<{ state: RunState }>(
    'select state from stream_snapshot where stream_id = $1',
    [streamOf(runId)],
  );
  const state = snapshot.rows[0]?.state;
  const seatable =
    !state ||
    !('seats' in state) ||
    state.seats.every((seat) => {
      const status = dependencies.registry.statusOf(seat.model);
      return status.available && status.simulated === seat.simulated;
    });
  return issue(
    dependencies,
    runId,
    { type: 'Start', now: isoNow(dependencies), seatable },
    ['start'],
    patience,
  );
}

/** The run's settlement on the credits stream, then the ledger's figures on the run's. */
export async function settleRun(
  dependencies: Pick<OptimizationDependencies, 'bus' | 'holds' | 'readState'>,
  runId: string,
): Promise<void> {
  const state = await dependencies.readState(runId);
  if (state.stage !== 'settling' && state.stage !== 'closed') return;
  const { userId, conclusion } = state;
  const figures = await dependencies.holds.settle({
    userId,
    runId,
    settlement: conclusion.settlement,
    actor,
  });
  if (state.stage === 'closed') return;
  await issue(dependencies, runId, { type: 'Close', ...figures }, ['close']);
}

const titleAlone: FieldsOf = (event) => fieldsOfView(event).filter((field) => field === 'title');

/**
 * One mail when a run has ended, whoever asks and however often: its id is derived from the run's.
 * What was erased is not written about.
 */
async function notifyRun(dependencies: OptimizationDependencies, runId: string): Promise<void> {
  const run = await dependencies.readRun(runId, () => titleAlone);
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
 * The texts of a run that has been hidden for 30 days are erased with its key. What a restored run or
 * one that was hidden again later left of this job finds nothing to do.
 */
async function forgetRun(
  dependencies: Pick<OptimizationDependencies, 'pool' | 'readState' | 'sealer' | 'audit' | 'clock'>,
  runId: string,
): Promise<void> {
  const { pool, readState, sealer, audit } = dependencies;
  const state = await readState(runId);
  if (!('userId' in state) || state.hiddenAt === null) return;
  if (isoNow(dependencies) < forgottenFrom(state.hiddenAt)) {
    // The queue goes by the clock of the database; where that is ahead of ours, the job comes again.
    const later = new Date(dependencies.clock() + askAgainMs).toISOString();
    const job = forgetJob(runId, state.hiddenAt);
    await addJob(pool, { ...job, runAt: job.runAt > later ? job.runAt : later });
    return;
  }
  const { rowCount } = await pool.query('select from data_key where key_id = $1', [runId]);
  if (rowCount === 0) return;
  // Before the key goes: a process that dies in between says it twice rather than never.
  await audit({ actor, action: 'run.forgotten', subject: runId, userId: state.userId });
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
  const now = isoNow(dependencies);
  await issue(dependencies, runId, { type: 'Deadline', stage, kind, now }, [stage, kind]);
}

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
 * A deadline that is noticed long after it was due found no worker awake: the models had no chance
 * either. It gives them its full length once more, once.
 */
async function rearmed(
  dependencies: OptimizationDependencies,
  task: string,
  key: string,
  payload: v.InferOutput<typeof DeadlinePayload> & { stage?: string; kind?: string },
): Promise<boolean> {
  if (payload.rearmed || !isLate(payload.dueAt, dependencies.clock())) return false;
  const state = await dependencies.readState(payload.runId);
  if (!('schedule' in state)) return false;
  const lengthMs = deadlineLength(state.schedule.deadlinesMs, payload);
  const dueAt = new Date(dependencies.clock() + lengthMs).toISOString();
  await addJob(dependencies.pool, {
    task,
    payload: { ...payload, dueAt, rearmed: true },
    key,
    runAt: dueAt,
  });
  return true;
}

/** For the two jobs that no event causes; everything else comes from `reactions.ts`. */
export async function addJob(pool: pg.Pool, job: JobSpec): Promise<void> {
  await pool.query(
    `select graphile_worker.add_job($1, $2::json, run_at := $3::timestamptz, job_key := $4,
       job_key_mode := 'replace')`,
    [job.task, JSON.stringify(job.payload), job.runAt ?? null, job.key],
  );
}

// ── calls ───────────────────────────────────────────────────────────────────────────────────────

async function callModel(
  dependencies: OptimizationDependencies,
  capOf: (provider: string) => LimitFunction,
  runId: string,
  slot: Slot,
): Promise<void> {
  const run = await dependencies.readRun(runId, fieldsOfPrompt(slot));
  if (!run) throw new Error('A call for a run that does not exist');
  const { state } = run;
  // A run that has ended since has nobody to call.
  if (!('runDeadlineAt' in state)) return;
  const { provider } = modelOf(slot, state);
  await capOf(provider)(async () => callOnce(dependencies, run, slot));
}

async function callOnce(
  dependencies: OptimizationDependencies,
  run: OpenRun,
  slot: Slot,
): Promise<void> {
  const { runId } = run;
  const attempt = nextAttempt(run.state, slot);
  const now = isoNow(dependencies);
  const begun = await issue(dependencies, runId, { type: 'BeginCall', slot, attempt, now }, [
    slot,
    attempt,
    'start',
  ]);
  const started = begun.events.find((event) => event.type === 'CallStarted');
  if (started?.type !== 'CallStarted') return;
  // A repeat is another worker's call, unless it is our own whose answer was lost on the way.
  if (begun.repeated && started.data.startedAt !== now) return;
  const { model, simulated } = started.data;
  const startedMs = dependencies.clock();
  const called = await dependencies.openCalls.during({ runId, slot }, (signal) =>
    answerOf(dependencies, run, { ...started.data, signal }),
  );
  // The process is ending: the job will run again elsewhere and record this attempt as lost.
  if (dependencies.openCalls.stopping && !called.result.ok)
    throw new Error('Stopped before the model had answered');
  const latencyMs = Math.max(0, Math.round(dependencies.clock() - startedMs));
  const cost = costMicros(called.usage, model, now);
  dependencies.log.info(
    {
      run_id: runId,
      seat: slot,
      attempt,
      model,
      duration_ms: latencyMs,
      cost_micros: cost,
      outcome: called.result.ok ? 'answered' : called.result.failure,
      mode: simulated ? 'simulated' : 'real',
    },
    'A model call ended',
  );
  await issue(
    dependencies,
    runId,
    {
      type: 'EndCall',
      slot,
      attempt,
      now: isoNow(dependencies),
      usage: called.usage,
      costMicros: cost,
      latencyMs,
      result: called.result,
    },
    [slot, attempt, 'end'],
  );
}

type Call = {
  slot: Slot;
  attempt: number;
  model: string;
  effort: Parameters<Provider['call']>[0]['effort'];
  signal: AbortSignal;
};
type Called = { usage: UsageRecord; result: CallResult };

/** The model's answer, checked and sealed, or the failure as data. */
async function answerOf(
  dependencies: OptimizationDependencies,
  run: OpenRun,
  call: Call,
): Promise<Called> {
  let usage = unknownUsage;
  try {
    const prepared = prepareCall(run, call.slot, call.attempt);
    const reply = await streamReply(dependencies, run, call, prepared);
    usage = reply.usage;
    if (reply.finish === 'length') return failed('truncated', usage);
    const checked = prepared.check(reply.text);
    if (!checked.ok) {
      dependencies.log.warn(
        { run_id: run.runId, seat: call.slot, model: call.model, reason: checked.reason },
        'A reply did not have the required form',
      );
      return failed('malformed', usage);
    }
    return { usage, result: await sealed(dependencies, run, reply, checked.value) };
  } catch (error) {
    if (error instanceof ModelFailure)
      return failed(error.failure, error.usage, error.retryAfterMs);
    if (error instanceof TextErased || error instanceof ErasedKeyError)
      return failed('aborted', usage);
    throw error;
  }
}

function failed(
  failure: ModelFailure['failure'],
  usage: UsageRecord,
  retryAfterMs: number | null = null,
): Called {
  return { usage, result: { ok: false, failure, retryAfterMs } };
}

async function streamReply(
  dependencies: OptimizationDependencies,
  run: OpenRun,
  call: Call,
  prepared: PreparedCall,
): Promise<ModelReply> {
  const { state } = run;
  const provider = dependencies.registry.providerFor(call.model);
  if (!provider || !('userId' in state))
    throw new ModelFailure('auth', `No provider serves ${call.model}`);
  const parts = provider.call({
    ...prepared.request,
    model: call.model,
    effort: call.effort,
    maxOutputTokens: strategyOf(state.strategy)?.maxOutputTokens ?? defaultOutputTokens,
    timeoutMs: timeLeft(state, dependencies.clock()),
    signal: call.signal,
  });
  const { slot, attempt } = call;
  const live = dependencies.liveText.begin(
    { runId: run.runId, slot, attempt, userId: state.userId },
    run.runId,
  );
  const readable = createReadable();
  let characters = 0;
  try {
    for await (const part of parts) {
      if (part.type === 'reply') return part.reply;
      characters += part.text.length;
      live.push(readable.push(part.text), (100 * characters) / prepared.expectedCharacters);
    }
  } finally {
    live.end();
  }
  throw new ModelFailure('connection', 'The stream ended without a reply');
}

async function sealed(
  { sealer }: Pick<OptimizationDependencies, 'sealer'>,
  run: OpenRun,
  reply: ModelReply,
  { outcome, texts, ledger }: CheckedCall,
): Promise<CallResult> {
  const stream = streamOf(run.runId);
  const seal = (field: string, text: string) => sealer.seal(run.runId, { stream, field }, text);
  return {
    ok: true,
    outcome,
    answeredBy: reply.answeredBy,
    sealed: {
      reply: await seal('reply', texts.reply),
      ...(texts.shown === undefined ? {} : { shown: await seal('shown', texts.shown) }),
      ...(texts.notes === undefined ? {} : { notes: await seal('notes', texts.notes) }),
    },
    ...(ledger ? { ledger: await seal('ledger', JSON.stringify(ledger)) } : {}),
  };
}

const defaultOutputTokens = 8000;

function isoNow({ clock }: Pick<OptimizationDependencies, 'clock'>): string {
  return new Date(clock()).toISOString();
}
