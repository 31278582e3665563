import type { AnchorProof } from '#db/anchor-root.ts';
import type { RecordedEvent } from '#db/recorded-event.ts';

/**
 * Everything that a run is checked from, whether it was read from the database (`gather.ts`) or from a
 * pack (`pack/read.ts`). The checks are pure and the same for both.
 */
export type Evidence = {
  /** The run itself last; before it the results that a refinement starts from, their root first. */
  runs: readonly AuditedRun[];
  credits: readonly CreditEntry[];
  anchors: readonly AnchorProof[];
  /** `sealed`: they exist, but are not given. */
  texts: 'opened' | 'sealed' | 'erased';
  opened: readonly OpenedText[];
  prompts: readonly SentPrompt[];
  /** Checks `CallStarted.promptMac`, 64 hex digits; null without texts. */
  macKey: string | null;
  /** Of the software that gathered this (`prompts/calls.ts`); each call names its own. */
  promptVersion: number;
};

/** What the hash chain covers, and the hash. Positions in the log are no part of it. */
export type StoredEvent = Omit<RecordedEvent, 'transactionId' | 'globalPosition'>;

export type AuditedRun = { runId: string; events: readonly StoredEvent[] };

/** The place of an event: its run, and its position there. */
type Place = { runId: string; position: number };

export type OpenedText = Place & { field: string; text: string };

/** The exact request of a `CallStarted`; `schema` is JSON. */
export type SentPrompt = Place & { system: string; prompt: string; schema: string };

/**
 * What the account's ledger says about a run. The event also holds the account's balance, which shows
 * other runs, so it is not given whole, and its hash cannot be recomputed from this.
 */
export type CreditEntry = {
  runId: string;
  /** In the stream of the account. */
  position: number;
  type: string;
  credits: number;
  at: string;
  hash: string;
};

/** The text that the code of a prompt is computed of. */
export function sentText({ system, prompt, schema }: SentPrompt): string {
  return `[${JSON.stringify(system)},${JSON.stringify(prompt)},${schema}]`;
}

/** What was asked in these words can be made again; only the chain says it, because a manifest is not proved. */
export function promptVersionOf({ data }: Pick<StoredEvent, 'data'>): unknown {
  return data['promptVersion'] ?? 1;
}

/** The starts of calls whose prompt has a code. */
export function codedCalls({ events }: AuditedRun): StoredEvent[] {
  return events.filter(
    ({ type, data }) => type === 'CallStarted' && data['promptMac'] !== undefined,
  );
}

/** The run that everything else is evidence for. */
export function auditedRun({ runs }: Pick<Evidence, 'runs'>): AuditedRun {
  const run = runs.at(-1);
  if (run === undefined) throw new RangeError('Evidence without a run');
  return run;
}

/** The sealed texts of an event by field. */
export function sealedFields({ data }: Pick<StoredEvent, 'data'>): Record<string, string> {
  const { sealed } = data;
  return typeof sealed === 'object' && sealed !== null ? (sealed as Record<string, string>) : {};
}

export function eventAt(
  runs: readonly AuditedRun[],
  runId: string,
  position: number,
): StoredEvent | undefined {
  const run = runs.find((one) => one.runId === runId);
  return run?.events.find(({ streamPosition }) => streamPosition === position);
}

/** The opened texts by what is sealed of them. */
export function textsOf({ runs, opened }: Pick<Evidence, 'runs' | 'opened'>): Map<string, string> {
  return new Map(
    opened.flatMap(({ runId, position, field, text }) => {
      const event = eventAt(runs, runId, position);
      const sealed = event && sealedFields(event)[field];
      return sealed === undefined ? [] : [[sealed, text] as const];
    }),
  );
}
