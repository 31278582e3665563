import { canonicalJson } from '#db/chain.ts';
import { optimization } from '#services/optimizations/run/optimization.ts';
import { streamOf } from '#services/optimizations/run/events.ts';
import type { Charge, OptimizationEvent } from '#services/optimizations/run/events.ts';
import { newId, uuidV5 } from '#services/platform/ids.ts';
import { reserve, settle } from './accounts.ts';
import type { Account } from './accounts.ts';
import { appendRows, emptyHead, headRows } from './chained.ts';
import type { Rows } from './rows.ts';
import type { Seal } from './seal.ts';
import type { Template, TemplateEvent } from './templates.ts';

/** A template with the places in its events where ids and times stand. */
export type CompiledTemplate = Template & { commands: readonly CompiledCommand[]; price: number };

type CompiledCommand = {
  fingerprint: string | null;
  /** Of a system's command; null: the user. */
  actor: string | null;
  afterMs: number;
  events: readonly CompiledEvent[];
};

type CompiledEvent = {
  type: string;
  /** Canonical JSON in pieces; after each but the last stands the slot of that number. */
  pieces: readonly string[];
  slots: readonly Slot[];
};

type Slot =
  | { kind: 'run' | 'user' | 'creditsVersion' }
  | { kind: 'time'; afterMs: number }
  | { kind: 'text'; field: string; text: string };

const dayMs = 86_400_000;

export function compile(template: Template): CompiledTemplate {
  const commands: (CompiledCommand & { events: CompiledEvent[]; id: unknown })[] = [];
  for (const event of template.events) {
    const { commandId, fingerprint, actor, occurredAt } = event.metadata;
    const compiled = compileEvent(template, event);
    const last = commands.at(-1);
    if (last !== undefined && last.id === commandId) last.events.push(compiled);
    else
      commands.push({
        id: commandId,
        // Commands of the system have their own id as their fingerprint.
        fingerprint: fingerprint === commandId ? null : String(fingerprint),
        actor: actor === template.userId ? null : String(actor),
        afterMs: Date.parse(String(occurredAt)) - template.createdAt,
        events: [compiled],
      });
  }
  return { ...template, commands, price: Number(template.events[0]?.data['price']) };
}

function compileEvent(template: Template, event: TemplateEvent): CompiledEvent {
  const pieces: string[] = [];
  const slots: Slot[] = [];
  const json = canonicalJson(withMarks(event));
  let end = 0;
  for (const match of json.matchAll(places)) {
    const slot = slotOf(template, event, match[0]);
    if (slot === null) continue;
    pieces.push(json.slice(end, match.index));
    slots.push(slot);
    end = match.index + match[0].length;
  }
  return { type: event.type, pieces: [...pieces, json.slice(end)], slots };
}

const places =
  /"#version"|#text \w+|(?:opt|usr)_[0-9a-z]{26}|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g;

function withMarks({ data, texts }: TemplateEvent): Record<string, unknown> {
  const fields = Object.keys(texts);
  return {
    ...data,
    ...(fields.length === 0
      ? {}
      : { sealed: Object.fromEntries(fields.map((field) => [field, `#text ${field}`])) }),
    ...('creditsVersion' in data ? { creditsVersion: '#version' } : {}),
  };
}

/** A time far from the run, such as that of a price, stays. */
function slotOf(
  { runId, userId, createdAt }: Template,
  { texts }: TemplateEvent,
  found: string,
): Slot | null {
  if (found === runId) return { kind: 'run' };
  if (found === userId) return { kind: 'user' };
  if (found === '"#version"') return { kind: 'creditsVersion' };
  const field = /^#text (\w+)$/.exec(found)?.[1];
  if (field !== undefined) return { kind: 'text', field, text: texts[field] ?? '' };
  const afterMs = Date.parse(found) - createdAt;
  return Math.abs(afterMs) < 2 * dayMs ? { kind: 'time', afterMs } : null;
}

/**
 * One run of an account: the template's events under new ids, with new times, its texts sealed under a
 * key of its own, and what the account pays. A draft was never started.
 */
export async function addRun(
  rows: Rows,
  seal: Seal,
  template: CompiledTemplate,
  account: Account,
  at: number,
  kind: 'completed' | 'draft',
): Promise<void> {
  const runId = newId('opt', at);
  const { userId } = account;
  await seal.createDataKey('run', runId, userId);
  const head = emptyHead(streamOf(runId), optimization);
  const commands = kind === 'draft' ? template.commands.slice(0, 1) : template.commands;
  let creditsVersion = 0;
  for (const [number, command] of commands.entries()) {
    const commandId = uuidV5(runId, number);
    const moment = at + command.afterMs;
    const events: OptimizationEvent[] = [];
    const texts: string[] = [];
    for (const compiled of command.events) {
      if (compiled.type === 'ProcessingStarted')
        reserve(rows, account, { runId, price: template.price, at: moment });
      const text = await render(compiled, seal, { runId, userId, at, creditsVersion });
      texts.push(text);
      events.push({ type: compiled.type, data: JSON.parse(text) as unknown } as OptimizationEvent);
    }
    const cause = {
      commandId,
      fingerprint: command.fingerprint ?? commandId,
      correlationId: runId,
      actor: command.actor ?? userId,
      at: moment,
    };
    appendRows(rows, optimization, head, cause, events, texts);
    for (const { type, data } of events)
      if (type === 'RunConcluded' && data.settlement.kind !== 'nothing')
        creditsVersion = settle(rows, account, {
          runId,
          settlement: data.settlement satisfies Charge,
          at: moment,
        });
  }
  headRows(rows, optimization, head);
}

type Place = { runId: string; userId: string; at: number; creditsVersion: number };

async function render({ pieces, slots }: CompiledEvent, seal: Seal, place: Place): Promise<string> {
  let json = pieces[0] ?? '';
  for (const [number, slot] of slots.entries())
    json += (await inSlot(slot, seal, place)) + (pieces[number + 1] ?? '');
  return json;
}

async function inSlot(slot: Slot, seal: Seal, place: Place): Promise<string> {
  switch (slot.kind) {
    case 'run':
      return place.runId;
    case 'user':
      return place.userId;
    case 'creditsVersion':
      return String(place.creditsVersion);
    case 'time':
      return new Date(place.at + slot.afterMs).toISOString();
    case 'text': {
      const context = { stream: streamOf(place.runId), field: slot.field };
      return seal.seal(place.runId, context, slot.text);
    }
  }
}
