import { eventLine } from '#db/log-file/lines.ts';
import { runIdOf } from '#services/optimizations/run/events.ts';
import { auditedRun, codedCalls, sealedFields } from '#services/optimizations/audit/evidence.ts';
import type { AuditedRun, Evidence, StoredEvent } from '#services/optimizations/audit/evidence.ts';
import { figuresOf } from './figures.ts';
import { formatVersion, protectedLine } from './lines.ts';
import type { ManifestLine } from './lines.ts';

/** When and with what a pack was made. */
export type Making = Pick<ManifestLine, 'exportedAt' | 'software'>;

/**
 * The lines of a pack. The manifest comes first; each event is followed by the prompt that it sent and
 * the texts that it seals, so that the file reads from top to bottom.
 */
export function packLines(evidence: Evidence, making: Making): string[] {
  const lines = linesOf(evidence);
  return [protectedLine({ ...manifestOf(evidence, making), lines: lines.length + 1 }), ...lines];
}

/** All lines but the manifest, in their one order. */
export function linesOf(evidence: Evidence): string[] {
  const { runs, credits, anchors, macKey } = evidence;
  return [
    ...(macKey === null
      ? []
      : [protectedLine({ kind: 'key', use: 'HMAC-SHA-256 of prompts and texts', subkey: macKey })]),
    ...runs.flatMap((run) => runLines(run, evidence)),
    ...credits.map(({ runId: run, ...entry }) => protectedLine({ kind: 'credits', run, ...entry })),
    ...anchors.map(({ head, path, ...anchor }) =>
      protectedLine({
        kind: 'anchor',
        ...anchor,
        path: [...path],
        run: runIdOf(head.streamId),
        position: head.version,
        hash: head.hash,
      }),
    ),
  ];
}

function runLines({ runId, events }: AuditedRun, evidence: Evidence): string[] {
  const texts = Map.groupBy(
    evidence.opened.filter((one) => one.runId === runId),
    ({ position }) => position,
  );
  const prompts = new Map(
    evidence.prompts.flatMap((one) => (one.runId === runId ? [[one.position, one] as const] : [])),
  );
  return events.flatMap((event) => {
    const place = { run: runId, position: event.streamPosition };
    const sent = prompts.get(event.streamPosition);
    const opened = texts.get(event.streamPosition) ?? [];
    return [
      eventLine({
        stream: event.streamId,
        version: event.streamPosition,
        messageId: event.messageId,
        type: event.type,
        data: event.data,
        metadata: { ...event.metadata, hash: String(event.metadata['hash']) },
      }),
      ...(sent === undefined ? [] : [promptLine(place, sent)]),
      ...opened
        .toSorted((one, other) => (one.field < other.field ? -1 : 1))
        .map(({ field, text }) => protectedLine({ kind: 'text', ...place, field, text })),
    ];
  });
}

function promptLine(
  place: { run: string; position: number },
  { system, prompt, schema }: Evidence['prompts'][number],
): string {
  return protectedLine({ kind: 'prompt', ...place, system, prompt, schema });
}

/** Everything that it says follows from the evidence, but when and with what it was made. */
export function manifestOf(
  evidence: Evidence,
  making: Making,
): Omit<ManifestLine, 'lines' | 'sha256'> {
  const { runs, texts, promptVersion } = evidence;
  const { runId, events } = auditedRun(evidence);
  return {
    kind: 'manifest',
    format: 'evidence of a run',
    formatVersion,
    run: runId,
    exportedAt: making.exportedAt,
    software: making.software,
    promptVersion,
    texts,
    runs: runs.map((run) => ({
      run: run.runId,
      events: run.events.length,
      hash: String(run.events.at(-1)?.metadata['hash']),
    })),
    promptsLeftOut: promptsLeftOut(evidence),
    credits: evidence.credits.map(({ runId: run, position }) => ({ run, position })),
    anchors: evidence.anchors.map(({ head }) => runIdOf(head.streamId)),
    figures: figuresOf(events),
  };
}

/** Calls with a code whose prompt is not here, though the texts are. */
export function promptsLeftOut({
  runs,
  prompts,
  texts,
}: Evidence): { run: string; position: number }[] {
  if (texts !== 'opened') return [];
  return runs.flatMap(({ runId, events }) =>
    codedCalls({ runId, events })
      .map(({ streamPosition }) => ({ run: runId, position: streamPosition }))
      .filter(
        ({ position }) => !prompts.some((one) => one.runId === runId && one.position === position),
      ),
  );
}

/** The sealed texts that are not here, though texts are. */
export function textsLeftOut({
  runs,
  opened,
  texts,
}: Evidence): { event: StoredEvent; field: string }[] {
  if (texts !== 'opened') return [];
  const given = new Set(
    opened.map(({ runId, position, field }) => `${runId} ${position} ${field}`),
  );
  return runs.flatMap(({ runId, events }) =>
    events.flatMap((event) =>
      Object.keys(sealedFields(event))
        .filter((field) => !given.has(`${runId} ${event.streamPosition} ${field}`))
        .map((field) => ({ event, field })),
    ),
  );
}
