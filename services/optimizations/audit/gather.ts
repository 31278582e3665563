import type { StreamEvents } from '#db/streams.ts';
import type { AnchorProof } from '#db/anchor-root.ts';
import type { RecordedEvent } from '#db/recorded-event.ts';
import type { Sealer } from '#services/platform/seal.ts';
import { promptVersion } from '#services/optimizations/prompts/calls.ts';
import { IntegrityError, macUnder } from '#services/platform/seal.ts';
import {
  occurredAt,
  openTexts,
  previousOf,
  runEventOf,
} from '#services/optimizations/reading/read-run.ts';
import { streamOf } from '#services/optimizations/run/events.ts';
import type {
  AuditedRun,
  CreditEntry,
  Evidence,
  OpenedText,
  SentPrompt,
  StoredEvent,
} from './evidence.ts';
import { sealedFields, textsOf } from './evidence.ts';
import { rebuildCalls } from './rebuild.ts';

/** Reads the evidence of a run from the database. */
export type GatherDependencies = {
  /** As they are stored, before any upcasting. */
  readStoredStream: (streamId: string) => Promise<StreamEvents>;
  /** What the ledger of an account says about these runs. */
  readRunCredits: (userId: string, runIds: readonly string[]) => Promise<RecordedEvent[]>;
  proveAnchored: (streamId: string) => Promise<AnchorProof | null>;
  sealer: Pick<Sealer, 'open' | 'macKey'>;
};

/**
 * Null for a run that does not exist.
 *
 * @param open whether the texts are opened; they are not where their key is gone
 */
export async function gatherEvidence(
  dependencies: GatherDependencies,
  runId: string,
  { open }: { open: boolean },
): Promise<Evidence | null> {
  const runs = await readRuns(dependencies, runId);
  const created = runs.at(-1)?.events[0];
  const event = created && runEventOf(created);
  if (event?.type !== 'OptimizationCreated') return null;
  const { userId, refines } = event.data;
  const macKey = await dependencies.sealer.macKey(refines?.root ?? runId);
  return {
    runs,
    credits: await readCredits(dependencies, userId, runs),
    anchors: await readAnchors(dependencies, runs),
    ...(await readTexts(dependencies, runs, macKey, open)),
    promptVersion,
  };
}

type Texts = Pick<Evidence, 'texts' | 'opened' | 'prompts' | 'macKey'>;

async function readTexts(
  dependencies: GatherDependencies,
  runs: readonly AuditedRun[],
  macKey: string | null,
  open: boolean,
): Promise<Texts> {
  const none = { opened: [], prompts: [], macKey: null };
  if (macKey !== null && !open) return { texts: 'sealed', ...none };
  const opened = macKey === null ? null : await openAll(dependencies, runs);
  if (macKey === null || opened === null) return { texts: 'erased', ...none };
  const prompts = await readPrompts(runs, opened, macKey);
  return { texts: 'opened', opened, prompts, macKey };
}

/** The run and, in a refinement, every result that it builds on, the first one first. */
async function readRuns(
  { readStoredStream }: GatherDependencies,
  runId: string,
): Promise<AuditedRun[]> {
  const runs: AuditedRun[] = [];
  for (let next: string | null = runId; next !== null;) {
    const { events }: StreamEvents = await readStoredStream(streamOf(next));
    runs.unshift({ runId: next, events: events.map(storedEvent) });
    next = previousOf(events[0]);
  }
  return runs;
}

function storedEvent(event: RecordedEvent): StoredEvent {
  const { streamId, streamPosition, messageId, type, data, metadata } = event;
  return { streamId, streamPosition, messageId, type, data, metadata };
}

/**
 * Null when their key is erased in between. A damaged text is left out, so that a check of the rest
 * finds it missing.
 */
async function openAll(
  { sealer }: GatherDependencies,
  runs: readonly AuditedRun[],
): Promise<OpenedText[] | null> {
  const opened: OpenedText[] = [];
  for (const { runId, events } of runs)
    for (const event of events)
      for (const field of Object.keys(sealedFields(event))) {
        const text = await openOne(sealer, event, field);
        if (text === null) return null;
        if (text !== undefined) opened.push({ runId, position: event.streamPosition, field, text });
      }
  return opened;
}

async function openOne(
  sealer: Pick<Sealer, 'open'>,
  event: StoredEvent,
  field: string,
): Promise<string | null | undefined> {
  try {
    return (await openTexts(sealer, event, [field]))[field];
  } catch (error) {
    if (error instanceof IntegrityError) return undefined;
    throw error;
  }
}

/** Prompts are not stored: they are made again, and are those that were sent if they have their code. */
async function readPrompts(
  runs: readonly AuditedRun[],
  opened: readonly OpenedText[],
  macKey: string,
): Promise<SentPrompt[]> {
  const subkey = Buffer.from(macKey, 'hex');
  const calls = await rebuildCalls({ runs, texts: textsOf({ runs, opened }), macKey });
  return calls.flatMap(({ runId, event, made }) => {
    if ('problem' in made || macUnder(subkey, made.text) !== event.data['promptMac']) return [];
    const { system, prompt, schema } = made.prepared.request;
    const position = event.streamPosition;
    return [{ runId, position, system, prompt, schema: JSON.stringify(schema) }];
  });
}

async function readCredits(
  { readRunCredits }: GatherDependencies,
  userId: string,
  runs: readonly AuditedRun[],
): Promise<CreditEntry[]> {
  const events = await readRunCredits(
    userId,
    runs.map(({ runId }) => runId),
  );
  return events.map((event) => ({
    runId: String(event.data['runId']),
    position: event.streamPosition,
    type: event.type,
    credits: Number(event.data['credits']),
    at: occurredAt(event),
    hash: String(event.metadata['hash']),
  }));
}

async function readAnchors(
  { proveAnchored }: GatherDependencies,
  runs: readonly AuditedRun[],
): Promise<AnchorProof[]> {
  const anchors: AnchorProof[] = [];
  for (const { runId } of runs) {
    const anchor = await proveAnchored(streamOf(runId));
    if (anchor !== null) anchors.push(anchor);
  }
  return anchors;
}
