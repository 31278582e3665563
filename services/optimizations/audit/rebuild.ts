import { setImmediate as otherWork } from 'node:timers/promises';
import { upcast } from '#db/recorded-event.ts';
import { fieldsOfPrompt, prepareCall, promptText } from '#services/optimizations/prompts/calls.ts';
import type { PreparedCall } from '#services/optimizations/prompts/prepared-call.ts';
import {
  foldRun,
  occurredAt,
  previousOf,
  runEventOf,
} from '#services/optimizations/reading/read-run.ts';
import type { OpenRun } from '#services/optimizations/reading/read-run.ts';
import { parseSlot } from '#services/optimizations/run/slots.ts';
import { evolve, initialState } from '#services/optimizations/run/state.ts';
import { macUnder } from '#services/platform/seal.ts';
import { reasonOf } from './check.ts';
import { plannedSlots } from './plan.ts';
import { sealedFields } from './evidence.ts';
import type { AuditedRun, Evidence, StoredEvent } from './evidence.ts';

/**
 * The calls of a run, made again from its events and texts. Prompts are not stored: what a call was
 * asked follows from the events before it.
 */
export type RebuiltCall = {
  runId: string;
  /** Its `CallStarted`. */
  event: StoredEvent;
  /** Why there is no prompt, in place of one. */
  made: { text: string; prepared: PreparedCall } | { problem: string };
};

/** The opened texts, by sealed text: each has a nonce of its own. */
export type Texts = ReadonlyMap<string, string>;

/** With the key of the codes, because a code says which of two prompts was sent. */
type Given = Pick<Evidence, 'runs'> & { texts: Texts; macKey: string };

/** Of all prompts together. Those of a run of seven models have about 600,000; a long outage makes a hundred times as many. */
const mostCharacters = 100_000_000;

/** Those that have a code. @throws RangeError when their prompts would not fit into memory */
export async function rebuildCalls(given: Given): Promise<RebuiltCall[]> {
  const rebuilt: RebuiltCall[] = [];
  let characters = 0;
  for (const run of given.runs) {
    const seen: Seen = new Map();
    for (const [index, event] of run.events.entries()) {
      if (event.type !== 'CallStarted' || event.data['promptMac'] === undefined) continue;
      const call = rebuildCall(given, run, index, seen);
      characters += 'text' in call.made ? call.made.text.length : 0;
      if (characters > mostCharacters) throw new RangeError('the prompts are too long together');
      rebuilt.push(call);
      // A long run takes a while, and an API process has others to serve.
      await otherWork();
    }
  }
  return rebuilt;
}

/** Runs as their calls saw them: by slot, because all attempts are asked the same, and by what a refinement's base is read for. */
type Seen = Map<string, OpenRun>;

function rebuildCall(given: Given, run: AuditedRun, index: number, seen: Seen): RebuiltCall {
  const event = run.events[index]!;
  const call = { runId: run.runId, event };
  try {
    const started = runEventOf(event);
    if (started.type !== 'CallStarted') throw new RangeError('not the start of a call');
    const { slot, attempt } = started.data;
    if (!plannedSlots(run).has(slot)) throw new RangeError('the run has no such slot');
    const before = (cut: number) => ({ ...run, events: run.events.slice(0, cut) });
    const askedAfter = (cut: number, key: string): RebuiltCall => {
      const open = remembered(seen, key, () => sightOf(given, before(cut), slot, seen));
      const prepared = prepareCall(open, slot, attempt);
      return { ...call, made: { text: promptText(prepared.request), prepared } };
    };
    const first = askedAfter(index, slot);
    if (hasCode(given, first)) return first;
    for (const cut of earlierCuts(run, index, slot)) {
      if (seen.size >= mostSights) break;
      const other = askedAfter(cut, `${slot} after ${cut}`);
      if (hasCode(given, other)) return other;
    }
    return first;
  } catch (error) {
    return { ...call, made: { problem: reasonOf(error) } };
  }
}

function hasCode({ macKey }: Given, { event, made }: RebuiltCall): boolean {
  if ('problem' in made) return false;
  return macUnder(Buffer.from(macKey, 'hex'), made.text) === event.data['promptMac'];
}

/** Of one run; an honest one needs a few more than it has slots. */
const mostSights = 150;
/** As many votes as may arrive while a call is prepared. */
const mostCuts = 12;

/**
 * A second vote is asked with the votes that had arrived when its prompt was made, and others may have
 * arrived before its start was recorded. So its prompt may be one of an earlier moment.
 */
function earlierCuts({ events }: AuditedRun, index: number, slot: string): number[] {
  if (events[0]?.data['refines'] === undefined || parseSlot(slot).kind !== 'review') return [];
  const votes = events
    .slice(0, index)
    .flatMap(({ type }, at) => (type === 'CallSucceeded' ? [at] : []));
  return [index, ...votes.toReversed().slice(0, mostCuts)];
}

function remembered(seen: Seen, key: string, look: () => OpenRun): OpenRun {
  const found = seen.get(key) ?? look();
  seen.set(key, found);
  return found;
}

/** With the texts that a prompt of this slot may name; every other text reads like an erased one. */
function sightOf(given: Given, { runId, events }: AuditedRun, slot: string, seen: Seen): OpenRun {
  const base = baseOf(given, events, slot, seen);
  const state = events.map(runEventOf).reduce(evolve, initialState());
  const fieldsOf = fieldsOfPrompt(slot)(state);
  const opened = events.map((stored) => {
    const event = runEventOf(upcast({ ...stored, transactionId: '0', globalPosition: '0' }));
    const sealed = sealedFields(stored);
    const texts = fieldsOf(event).flatMap((field) => {
      const value = sealed[field];
      return value === undefined ? [] : [[field, given.texts.get(value) ?? null] as const];
    });
    const position = stored.streamPosition;
    return { event, position, at: occurredAt(stored), texts: Object.fromEntries(texts) };
  });
  const open = foldRun(runId, opened, base);
  if (open === null) throw new RangeError('there are no events before it');
  return open;
}

function baseOf(
  given: Given,
  [created]: readonly StoredEvent[],
  slot: string,
  seen: Seen,
): OpenRun | null {
  const previous = previousOf(created);
  if (previous === null) return null;
  const run = given.runs.find(({ runId }) => runId === previous);
  if (run === undefined) throw new RangeError(`${previous} is not among the evidence`);
  return remembered(seen, `${previous} ${parseSlot(slot).kind}`, () =>
    sightOf(given, run, slot, seen),
  );
}
