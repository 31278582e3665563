import { creditsInWords } from '#services/platform/numbers.ts';
import { createHash } from 'node:crypto';
import { priceHoldsMs, pricesFrom } from '#services/optimizations/create.ts';
import {
  discardDraft,
  executeOn,
  processRun,
  startRefusal,
} from '#services/optimizations/commands.ts';
import type { Payer, StartDependencies } from '#services/optimizations/commands.ts';
import type { RefineRequest } from '#services/optimizations/contract/refinement.ts';
import { runEventOf } from '#services/optimizations/reading/read-run.ts';
import type { ReadRun, ReadState } from '#services/optimizations/reading/read-run.ts';
import { titleAndQuestion } from '#services/optimizations/reading/view.ts';
import type { RunView } from '#services/optimizations/reading/view.ts';
import { refuseLongWait } from '#services/optimizations/lanes.ts';
import { streamOf } from '#services/optimizations/run/events.ts';
import type {
  OptimizationEvent,
  Refines,
  Schedule,
  Seat,
} from '#services/optimizations/run/events.ts';
import type { OptimizationCommand } from '#services/optimizations/run/optimization.ts';
import { claimsToVoteOn } from '#services/optimizations/run/second-round.ts';
import { everyModel } from '#services/optimizations/run/slots.ts';
import type { Known } from '#services/optimizations/run/state.ts';
import type { ModelRegistry } from '#services/models/registry.ts';
import type { Queryable } from '#db/connect.ts';
import type { StreamEvents } from '#db/streams.ts';
import { lastRefinement } from '#projections/optimization-list.ts';
import { derivedId } from '#services/platform/ids.ts';
import { Problem } from '#services/platform/problem.ts';
import { ErasedKeyError } from '#services/platform/seal.ts';
import type { Sealer } from '#services/platform/seal.ts';
import { councilBefore } from './before.ts';
import { readRefinementFacts } from './facts.ts';
import { refinableOf } from './offer.ts';

/**
 * Begins the refinement of a result: a run of its own, which holds what it decides from and is sealed
 * with the key of its root (`docs/decisions/0046-refinement.md`).
 */
export type RefineDependencies = StartDependencies & {
  registry: Pick<ModelRegistry, 'offers' | 'provider'>;
  readRun: ReadRun;
  readState: ReadState;
  readStream: (streamId: string) => Promise<StreamEvents>;
  sealer: Sealer;
};

type Asked = Payer & {
  /** The run whose result is refined, which the caller may see. */
  runId: string;
  /** Of the refinement: `refinementId`, or that of an earlier try of the same call. */
  id: string;
  commandId: string;
  fingerprint: string;
};

export function refinementId(rootId: string, number: number): string {
  return derivedId('opt', rootId, 'refinement', String(number));
}

/**
 * The id of a run's next refinement. It is derived from their number, so that of two calls at once one
 * finds that the other has begun.
 */
export async function nextRefinementId(
  pool: Queryable,
  runId: string,
  { refines }: Pick<Known, 'refines'>,
): Promise<string> {
  const rootId = refines?.root ?? runId;
  return refinementId(rootId, (await lastRefinement(pool, rootId)) + 1);
}

/**
 * Creates and starts a refinement. A repeat with the same command continues where the first one ended.
 *
 * @throws Problem 409 `not-refinable` with the reason in words, before anything is created, or for a
 *   repeat whose refinement was never started
 * @throws Problem 409 `price-changed` when it costs another price than the request agrees to
 * @throws Problem 400 `validation` for fields that do not belong together, or an unknown claim
 * @throws Problem what starting a run is refused with
 */
export async function refineRun(
  dependencies: RefineDependencies,
  asked: Asked,
  request: RefineRequest,
): Promise<void> {
  const { bus, readState } = dependencies;
  const { userId, apiKey, id } = asked;
  requireOneKind(request);
  const earlier = await begunBy(dependencies, asked);
  // A refusal releases the Idempotency-Key, so that the next call begins another refinement.
  if (earlier === 'given up') throw neverStarted();
  if (earlier === null) {
    const command = await createRefinement(dependencies, asked, request);
    const { commandId, fingerprint } = asked;
    await executeOn(bus, id, { command, commandId, fingerprint, actor: userId }, 'http');
    if ((await begunBy(dependencies, asked)) === null) throw inProgress();
  }
  const state = await readState(id);
  if (state.stage !== 'draft' || state.refines === undefined) return;
  try {
    // Deleting the root cancels what exists by then; this finds a deletion before that.
    await refuseDeleted(dependencies, state.refines.root);
    await processRun(dependencies, { userId, apiKey }, id, state);
  } catch (error) {
    // It was refused after all: a draft that nobody asked for would keep the next one waiting.
    if (error instanceof Problem) await discardDraft(dependencies, id);
    throw error;
  }
}

/** What an earlier try of the same call has made: a refinement, or one that ended before it started. */
async function begunBy(
  { readStream }: Pick<RefineDependencies, 'readStream'>,
  { id, commandId }: Asked,
): Promise<'begun' | 'given up' | null> {
  const { events } = await readStream(streamOf(id));
  if (events[0]?.metadata['commandId'] !== commandId) return null;
  const has = (type: OptimizationEvent['type']) => events.some((event) => event.type === type);
  return has('RunConcluded') && !has('ProcessingStarted') ? 'given up' : 'begun';
}

function requireOneKind({ instruction, changed_fact: fact, claim_id: claim }: RefineRequest): void {
  if (instruction !== undefined && fact !== undefined)
    throw fault('changed_fact', 'Send an instruction or a changed fact, not both');
  if (claim !== undefined && fact === undefined)
    throw fault('claim_id', 'Send the changed fact that is about this claim');
}

function fault(field: string, message: string): Problem {
  return new Problem('validation', message, { errors: [{ field, message }] });
}

const inProgress = () =>
  new Problem('not-refinable', 'A refinement of this run is in progress. Wait until it ends.');

const neverStarted = () =>
  new Problem('not-refinable', 'This refinement was not started. Send the request again.');

async function createRefinement(
  dependencies: RefineDependencies,
  { userId, apiKey, runId, id }: Asked,
  request: RefineRequest,
): Promise<OptimizationCommand> {
  const { readRun, readStream, catalogue, clock, pool } = dependencies;
  const run = await readRun(runId, () => titleAndQuestion);
  const found = run && (await readRefinementFacts(dependencies, userId, run.view));
  if (!found) throw new Problem('not-found', 'Failed to get optimization');
  const { view } = run;
  const root = view.refines?.root ?? runId;
  await refuseDeleted(dependencies, root);
  const { allowed, reason, price, running_id } = refinableOf(found.facts);
  if (!allowed) throw new Problem('not-refinable', reason ?? '', { members: { running_id } });
  if (request.price !== undefined && request.price !== price)
    throw new Problem(
      'price-changed',
      `This refinement costs ${creditsInWords(price, 'en-US')} now.`,
      { members: { price } },
    );
  const { events } = await readStream(streamOf(runId));
  const { before, seats, contested } = councilBefore(runId, events.map(runEventOf));
  const { claim_id: claimId } = request;
  if (claimId !== undefined && !before.ledger.claims.some((claim) => claim.id === claimId))
    throw fault('claim_id', 'This run has no claim of this id');
  const refusal = await startRefusal(dependencies, { userId, apiKey }, price);
  if (refusal !== null) throw refusal;
  const now = clock();
  const schedule = scheduleOf(dependencies, view, seats, now);
  await refuseLongWait(pool, schedule);
  const number = (await lastRefinement(pool, root)) + 1;
  // Another call has begun one since: its stream is there.
  if (id !== refinementId(root, number)) throw inProgress();
  const refines: Refines = {
    root,
    previous: runId,
    ...headOf(events),
    number,
    about: aboutOf(request),
    ...(claimId === undefined ? {} : { claimId }),
    claims: claimsToVoteOn(before.ledger, contested, claimId),
    notOffered: found.notOffered,
    before,
  };
  const { preparedCase } = await createdOf(dependencies, root);
  return {
    type: 'Create',
    data: {
      userId,
      challengeType: view.challengeType,
      strategy: view.strategy,
      price,
      priceUntil: new Date(now + priceHoldsMs).toISOString(),
      catalogueVersion: catalogue.version,
      seats,
      schedule,
      seed: createHash('sha256').update(`${before.seed}|${id}`).digest('hex').slice(0, 32),
      refines,
      ...(preparedCase === undefined ? {} : { preparedCase }),
      createdAt: new Date(now).toISOString(),
      sealed: await sealedTexts(dependencies, { root, id }, view, request),
    },
  };
}

/** @throws Problem 409 `not-refinable` for a run that its person has deleted */
async function refuseDeleted(
  { readState }: Pick<RefineDependencies, 'readState'>,
  root: string,
): Promise<void> {
  const state = await readState(root);
  if (!('hiddenAt' in state) || state.hiddenAt !== null)
    throw new Problem('not-refinable', 'This run has been deleted. Restore it first.');
}

function headOf(events: StreamEvents['events']): Pick<Refines, 'previousHead'> {
  const last = events.at(-1);
  const hash = last?.metadata['hash'];
  if (last === undefined || typeof hash !== 'string') return {};
  return { previousHead: { version: last.streamPosition, hash } };
}

function aboutOf({ instruction, changed_fact: fact }: RefineRequest): Refines['about'] {
  if (instruction !== undefined) return 'instruction';
  return fact === undefined ? 'contested' : 'fact';
}

async function createdOf({ readStream }: Pick<RefineDependencies, 'readStream'>, runId: string) {
  const [first] = (await readStream(streamOf(runId))).events;
  const event = first && runEventOf(first);
  if (event?.type !== 'OptimizationCreated') throw new Error(`${runId} has not been created`);
  return event.data;
}

/** Nobody answers or extracts claims again, so about half of the time is needed. */
function scheduleOf(
  { catalogue }: Pick<RefineDependencies, 'catalogue'>,
  { schedule }: RunView,
  seats: readonly Seat[],
  now: number,
): Schedule {
  const called = { ...schedule, extractors: [] };
  const models = everyModel({ seats, schedule: called }).map(({ model }) => model);
  return {
    ...called,
    typicalSeconds: Math.ceil(schedule.typicalSeconds / 2),
    prices: pricesFrom(catalogue, models, now),
  };
}

/** @throws Problem 409 `not-refinable` when the key of the root has been erased since it was read */
async function sealedTexts(
  { sealer }: Pick<RefineDependencies, 'sealer'>,
  { root, id }: { root: string; id: string },
  { title, challenge }: RunView,
  { instruction, changed_fact: fact }: RefineRequest,
) {
  const seal = async (field: string, text: string) =>
    sealer.seal(root, { stream: streamOf(id), field }, text);
  const given = instruction ?? fact;
  try {
    return {
      title: await seal('title', title ?? ''),
      challenge: await seal('challenge', challenge ?? ''),
      ...(given === undefined ? {} : { instruction: await seal('instruction', given) }),
    };
  } catch (error) {
    if (error instanceof ErasedKeyError)
      throw new Problem('not-refinable', 'The texts of this run have been erased.');
    throw error;
  }
}
