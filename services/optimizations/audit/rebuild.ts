import type { RecordedEvent } from '#db/recorded-event.ts';
import { upcast } from '#db/recorded-event.ts';
import { fieldsOfPrompt, prepareCall, promptText } from '#services/optimizations/prompts/calls.ts';
import type { PreparedCall } from '#services/optimizations/prompts/prepared-call.ts';
import { createReadRun, runEventOf } from '#services/optimizations/reading/read-run.ts';
import { runIdOf } from '#services/optimizations/run/events.ts';
import { reasonOf } from './check.ts';
import { eventAt, sealedFields } from './evidence.ts';
import type { AuditedRun, Evidence, OpenedText, StoredEvent } from './evidence.ts';

/** A call as the texts give it, and its accepted reply. */
export type RebuiltCall = {
  runId: string;
  /** Its `CallStarted`. */
  event: StoredEvent;
  /** The request as one text; why there is none, for texts that give no prompt. */
  text: string;
  prepared: PreparedCall | null;
  /** The sealed texts that it was made of. */
  read: readonly string[];
  reply: Reply | null;
};

export type Reply = {
  event: StoredEvent;
  texts: Readonly<Record<string, string>>;
  ledger: ReplyLedger | null;
};
type ReplyLedger = { event: StoredEvent; texts: Readonly<Record<string, string>> };

type Given = Pick<Evidence, 'runs' | 'opened'>;

/** Every call that has a code, made again from the events before it and the texts. */
export async function rebuildCalls(given: Given): Promise<RebuiltCall[]> {
  const texts = new Map(given.opened.map((text) => [sealedOf(given, text), text.text]));
  const rebuilt: RebuiltCall[] = [];
  for (const run of given.runs)
    for (const [index, event] of run.events.entries())
      if (event.type === 'CallStarted' && event.data['promptMac'] !== undefined)
        rebuilt.push(await rebuildCall(given.runs, run, index, texts));
  return rebuilt;
}

async function rebuildCall(
  runs: readonly AuditedRun[],
  run: AuditedRun,
  index: number,
  texts: ReadonlyMap<string, string>,
): Promise<RebuiltCall> {
  const event = run.events[index]!;
  const started = runEventOf(event);
  if (started.type !== 'CallStarted') throw new RangeError('Not the start of a call');
  const { slot, attempt } = started.data;
  const read = new Set<string>();
  const readRun = createReadRun({
    async readStream(streamId) {
      const runId = runIdOf(streamId);
      const base = runs.find((one) => one.runId === runId);
      const before = runId === run.runId ? run.events.slice(0, index) : (base?.events ?? []);
      return { events: before.map(recorded), version: before.length };
    },
    sealer: {
      async open(sealed) {
        const text = texts.get(sealed);
        if (text === undefined) return { erased: true };
        read.add(sealed);
        return { text };
      },
    },
  });
  const call = { runId: run.runId, event, reply: replyTo(run, slot, attempt, texts) };
  try {
    const open = await readRun(run.runId, fieldsOfPrompt(slot));
    if (open === null) throw new RangeError('no events before it');
    const prepared = prepareCall(open, slot, attempt);
    return { ...call, text: promptText(prepared.request), prepared, read: [...read] };
  } catch (error) {
    return { ...call, text: reasonOf(error), prepared: null, read: [] };
  }
}

/** What the call's reply was recorded as, with the ledger that was fixed from it. */
function replyTo(
  { events }: AuditedRun,
  slot: string,
  attempt: number,
  texts: ReadonlyMap<string, string>,
): Reply | null {
  const at = events.findIndex(
    ({ type, data }) =>
      type === 'CallSucceeded' && data['slot'] === slot && data['attempt'] === attempt,
  );
  const event = events[at];
  if (event === undefined) return null;
  const next = events[at + 1];
  const ledger = slot.startsWith('claims.') && next?.type === 'ClaimsFixed' ? next : null;
  return {
    event,
    texts: openedOf(event, texts),
    ledger: ledger && { event: ledger, texts: openedOf(ledger, texts) },
  };
}

function openedOf(event: StoredEvent, texts: ReadonlyMap<string, string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(sealedFields(event)).flatMap(([field, sealed]) => {
      const text = texts.get(sealed);
      return text === undefined ? [] : [[field, text] as const];
    }),
  );
}

/** A sealed text is found by itself: its nonce is unique. */
function sealedOf({ runs }: Given, { runId, position, field }: OpenedText): string {
  const event = eventAt(runs, runId, position);
  return (event && sealedFields(event)[field]) ?? '';
}

/** No reader of a run looks at its place in the log. */
function recorded(event: StoredEvent): RecordedEvent {
  return upcast({ ...event, transactionId: '0', globalPosition: '0' });
}
