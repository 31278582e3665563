import pLimit from 'p-limit';
import type { LimitFunction } from 'p-limit';
import type { LiveTextWriter } from '#services/live/live-text.ts';
import { createReadable } from '#services/live/readable.ts';
import type { Catalogue } from '#services/models/catalogue.ts';
import { costMicros, rowOf } from '#services/models/catalogue/prices.ts';
import type { PriceRow } from '#services/models/catalogue/prices.ts';
import { ModelFailure, unknownUsage } from '#services/models/model.ts';
import type { ModelReply, UsageRecord } from '#services/models/model.ts';
import { unobserved } from '#services/models/transport/observed-call.ts';
import type { BeginCall } from '#services/models/transport/observed-call.ts';
import type { ModelRegistry } from '#services/models/registry.ts';
import type { Log } from '#services/platform/process/log.ts';
import { ErasedKeyError } from '#services/platform/seal.ts';
import type { Sealer } from '#services/platform/seal.ts';
import { isoNow, issue } from './commands.ts';
import type { CommandDependencies } from './commands.ts';
import type { OpenCalls } from './open-calls.ts';
import { fieldsOfPrompt, prepareCall, promptText, promptVersion } from './prompts/calls.ts';
import { TextErased } from './prompts/prepared-call.ts';
import type { CheckedCall, PreparedCall } from './prompts/prepared-call.ts';
import { readReply } from './prompts/read-reply.ts';
import type { OpenRun, ReadRun } from './reading/read-run.ts';
import { keyOf } from './run/key.ts';
import { timeLeft } from './run/deadlines.ts';
import { streamOf } from './run/events.ts';
import type { CalledModel, CostSource, Slot } from './run/events.ts';
import type { CallResult } from './run/optimization.ts';
import { nextAttempt, owedSlots } from './run/owed.ts';
import { modelOf } from './run/slots.ts';
import { isOpen } from './run/state.ts';

/**
 * The job that calls a model: it sends the slot's prompt, streams the text, and records the checked
 * and sealed answer, or the failure.
 */
export type CallDependencies = CommandDependencies & {
  readRun: ReadRun;
  sealer: Sealer;
  registry: ModelRegistry;
  /** For runs of v0.1, which store neither their prices nor their limit of output. */
  catalogue: Catalogue;
  liveText: LiveTextWriter;
  openCalls: OpenCalls;
  log: Log;
  beginCall?: BeginCall;
  /** Calls under way to one provider without lanes at a time, in this process. */
  callsPerProvider: number;
};

/** @param prepare what a slot asks; another one only where the council itself is varied */
export function createCallModel(
  dependencies: CallDependencies,
  prepare: typeof prepareCall = prepareCall,
): (runId: string, slot: Slot) => Promise<void> {
  const limits = new Map<string, LimitFunction>();
  const limitOf = (provider: string) => {
    const limit = limits.get(provider) ?? pLimit(dependencies.callsPerProvider);
    limits.set(provider, limit);
    return limit;
  };
  return async (runId, slot) => {
    const run = await dependencies.readRun(runId, fieldsOfPrompt(slot));
    if (!run) throw new Error('A call for a run that does not exist');
    // The run has ended.
    if (!('runDeadlineAt' in run.state)) return;
    const { provider } = modelOf(slot, run.state);
    const call = async () => callOnce(dependencies, prepare, run, slot);
    if (run.state.schedule.lanes?.[provider] === undefined) return limitOf(provider)(call);
    // Its job began when it had its place, over all processes.
    await call();
  };
}

async function callOnce(
  dependencies: CallDependencies,
  prepare: typeof prepareCall,
  run: OpenRun,
  slot: Slot,
): Promise<void> {
  const { runId } = run;
  // Answered or given up since the job was queued: neither is undone.
  if (!owedSlots(run.state).includes(slot)) return;
  const attempt = nextAttempt(run.state, slot);
  const asked = await askedOf(dependencies, run, () => prepare(run, slot, attempt));
  const now = isoNow(dependencies);
  const begun = await issue(
    dependencies,
    runId,
    {
      type: 'BeginCall',
      slot,
      attempt,
      now,
      ...(asked && { promptMac: asked.mac, promptVersion }),
    },
    [slot, attempt, 'start'],
  );
  const started = begun.events.find((event) => event.type === 'CallStarted');
  if (started?.type !== 'CallStarted') return;
  // A repeat is another worker's call, unless the reply to our own command was lost.
  if (begun.repeated && started.data.startedAt !== now) return;
  const { model, provider, simulated } = started.data;
  const startedMs = dependencies.clock();
  const endCall = (dependencies.beginCall ?? unobserved)({ provider, model, simulated, runId });
  const called = await dependencies.openCalls.during({ runId, slot }, (signal) =>
    answerOf(dependencies, run, asked?.prepared ?? null, { ...started.data, signal }),
  );
  const latencyMs = Math.max(0, Math.round(dependencies.clock() - startedMs));
  const cost = costOf(dependencies, run, called, started.data);
  const outcome = called.result.ok ? 'answered' : called.result.failure;
  endCall({ outcome, costMicros: cost?.micros ?? null, durationMs: latencyMs });
  // The process is ending: the job will run again elsewhere and record this attempt as lost.
  if (dependencies.openCalls.stopping && !called.result.ok)
    throw new Error('Stopped before the model had answered');
  dependencies.log.info(
    {
      run_id: runId,
      seat: slot,
      attempt,
      model,
      duration_ms: latencyMs,
      cost_micros: cost?.micros ?? null,
      outcome,
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
      costMicros: cost?.micros ?? null,
      costSource: cost?.source ?? null,
      latencyMs,
      result: called.result,
    },
    [slot, attempt, 'end'],
  );
}

type Started = CalledModel & { slot: Slot; attempt: number; startedAt: string };
type Call = Started & { signal: AbortSignal };
type Called = { usage: UsageRecord; billedCost: number | null; result: CallResult };

/** The provider's bill where it sends one; null while neither a bill nor usage and price are known. */
function costOf(
  { catalogue, registry }: Pick<CallDependencies, 'catalogue' | 'registry'>,
  run: OpenRun,
  { usage, billedCost }: Called,
  { model, provider, simulated, startedAt }: Started,
): { micros: number; source: CostSource } | null {
  if (billedCost !== null) return { micros: billedCost, source: 'billed' };
  if (registry.provider(provider, simulated)?.isFree === true)
    return { micros: 0, source: 'local' };
  const micros = costMicros(usage, priceOf(catalogue, run, model, startedAt));
  return micros === null ? null : { micros, source: 'priced' };
}

/** The request, and the proof of its words that is stored before it is sent; null once they are erased. */
async function askedOf(
  { sealer }: Pick<CallDependencies, 'sealer'>,
  run: OpenRun,
  prepare: () => PreparedCall,
): Promise<{ prepared: PreparedCall; mac: string } | null> {
  try {
    const prepared = prepare();
    return {
      prepared,
      mac: await sealer.mac(keyOf(run.runId, run.state), promptText(prepared.request)),
    };
  } catch (error) {
    if (isErased(error)) return null;
    throw error;
  }
}

function isErased(error: unknown): boolean {
  return error instanceof TextErased || error instanceof ErasedKeyError;
}

/** The model's answer, checked and sealed, or the failure as data. */
async function answerOf(
  dependencies: CallDependencies,
  run: OpenRun,
  prepared: PreparedCall | null,
  call: Call,
): Promise<Called> {
  let cost: Cost = { usage: unknownUsage, billedCost: null };
  if (prepared === null) return failed('aborted', cost);
  try {
    const reply = await streamReply(dependencies, run, call, prepared);
    cost = { usage: reply.usage, billedCost: reply.billedCost };
    if (reply.finish === 'length') return failed('truncated', cost);
    const checked = prepared.check(await readReply(reply.text));
    if (!checked.ok) {
      dependencies.log.warn(
        { run_id: run.runId, seat: call.slot, model: call.model, reason: checked.reason },
        'A reply did not have the required form',
      );
      return failed('malformed', cost);
    }
    return { ...cost, result: await sealed(dependencies, run, reply, checked.value) };
  } catch (error) {
    if (error instanceof ModelFailure) return failed(error.failure, error, error.retryAfterMs);
    if (isErased(error)) return failed('aborted', cost);
    throw error;
  }
}

type Cost = Pick<Called, 'usage' | 'billedCost'>;

function failed(
  failure: ModelFailure['failure'],
  { usage, billedCost }: Cost,
  retryAfterMs: number | null = null,
): Called {
  return { usage, billedCost, result: { ok: false, failure, retryAfterMs } };
}

async function streamReply(
  dependencies: CallDependencies,
  run: OpenRun,
  call: Call,
  prepared: PreparedCall,
): Promise<ModelReply> {
  const { state } = run;
  const provider = dependencies.registry.provider(call.provider, call.simulated);
  if (!provider || !isOpen(state))
    throw new ModelFailure('auth', `No provider serves ${call.model}`);
  const own = modelOf(call.slot, state);
  const { numCtx = {} } = state.schedule;
  const parts = provider.call({
    ...prepared.request,
    model: call.remoteId ?? call.model,
    effort: call.effort,
    structuredOutput: own.structuredOutput ?? 'schema',
    numCtx: Object.hasOwn(numCtx, call.model) ? (numCtx[call.model] ?? null) : null,
    maxOutputTokens: Math.min(
      state.schedule.maxOutputTokens ??
        dependencies.catalogue.strategyOf(state.strategy)?.maxOutputTokens ??
        defaultOutputTokens,
      own.maxOutputTokens ?? Infinity,
    ),
    timeoutMs: timeLeft(state, call.slot, dependencies.clock()),
    signal: call.signal,
  });
  const { slot, attempt } = call;
  const live = dependencies.liveText.begin(
    { runId: run.runId, slot, attempt, userId: state.userId },
    keyOf(run.runId, state),
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

/** The row in force when the call started, of those that the run stores. */
function priceOf(
  catalogue: Catalogue,
  { state }: OpenRun,
  model: string,
  startedAt: string,
): PriceRow | null {
  const stored = 'schedule' in state ? state.schedule.prices : undefined;
  return stored === undefined
    ? catalogue.priceOf(model, startedAt)
    : rowOf(stored, model, startedAt);
}

async function sealed(
  { sealer }: Pick<CallDependencies, 'sealer'>,
  run: OpenRun,
  reply: ModelReply,
  { outcome, repaired, texts, ledger, title }: CheckedCall,
): Promise<CallResult> {
  const stream = streamOf(run.runId);
  const keyId = keyOf(run.runId, run.state);
  const seal = (field: string, text: string) => sealer.seal(keyId, { stream, field }, text);
  return {
    ok: true,
    outcome,
    repaired,
    answeredBy: reply.answeredBy,
    sealed: {
      reply: await seal('reply', texts.reply),
      ...(texts.shown === undefined ? {} : { shown: await seal('shown', texts.shown) }),
      ...(texts.notes === undefined ? {} : { notes: await seal('notes', texts.notes) }),
    },
    ...(ledger
      ? {
          ledger: {
            ledger: await seal('ledger', JSON.stringify(ledger)),
            ...(title === undefined ? {} : { title: await seal('title', title) }),
          },
        }
      : {}),
  };
}

const defaultOutputTokens = 8000;
