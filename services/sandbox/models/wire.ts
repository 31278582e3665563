import { createHash } from 'node:crypto';
import * as v from 'valibot';

/**
 * What all wire formats have in common. A format reads a vendor's request into a `WireCall` and
 * writes a `Turn` back as that vendor's events; everything between is the same for all of them.
 */
export type WireCall = {
  provider: string;
  model: string;
  system: string;
  prompt: string;
  /** The name of the structured output that was asked for; null for free text. */
  schemaName: string | null;
  maxOutputTokens: number | null;
  effort: string | null;
  stream: boolean;
  /** Chat Completions send usage only to those who ask. */
  wantsUsage: boolean;
  /** Why this vendor does not accept it; absent when it does. */
  refusal?: Pick<WireFailure, 'failure' | 'message'>;
};

/** Tokens: `input` includes `cached`; `visible` and `thinking` are apart. */
export type WireUsage = { input: number; cached: number; visible: number; thinking: number };

export type FailureKind = 'rate_limited' | 'unavailable' | 'unknown_model' | 'auth' | 'bad_request';

export type WireFailure = {
  kind: 'failure';
  failure: FailureKind;
  message: string;
  retryAfterSeconds: number | null;
};

/** How one call turns out. */
export type Turn =
  | { kind: 'reply'; text: string; finish: 'stop' | 'length'; usage: WireUsage }
  | { kind: 'refusal'; text: string; usage: WireUsage }
  | { kind: 'hang'; usage: WireUsage }
  | WireFailure;

/** A turn that opens a stream. */
export type StreamedTurn = Exclude<Turn, WireFailure>;

/** One reply being written: server-sent events as they go over the wire. */
export type WireStream = {
  /** Before the first word; thinking has begun. */
  open(): string[];
  text(delta: string): string[];
  /** After the last word. */
  close(turn: Extract<StreamedTurn, { kind: 'reply' | 'refusal' }>): string[];
};

export type WireFormat = {
  /** The path below the sandbox's origin; a group named `model` when the path names it. */
  path: RegExp;
  /** Absent: server-sent events. */
  contentType?: string;
  /** The header or query parameter that carries the key. */
  keyOf(headers: Headers, url: URL): string | null;
  /** @throws ValiError for a body of another shape */
  read(body: unknown, match: RegExpExecArray): WireCall;
  begin(call: WireCall, turn: StreamedTurn, ids: WireIds): WireStream;
  failure(failure: WireFailure): { status: number; body: unknown };
};

/** An id and a time for one reply; the same call in the same place of a run has the same id. */
export type WireIds = { id: string; createdAtSeconds: number };

export function idOf(...parts: (string | number)[]): string {
  return createHash('sha256').update(parts.join('\u001f')).digest('hex').slice(0, 32);
}

/**
 * The same for each attempt at the same question: a caller draws a code of 16 hexadecimal digits for
 * every attempt, to mark what is data, and only that differs.
 */
export function questionOf(call: WireCall): string {
  return idOf(call.system, call.prompt.replace(/\b[0-9a-f]{16}\b/g, ''));
}

/** About four characters a token, as good as any guess without the vendor's tokenizer. */
export function estimateTokens(text: string): number {
  return Math.ceil(text.length / 4);
}

/** `event:` and `data:` as most vendors frame them. */
export function frame(event: string | null, data: unknown): string {
  const head = event === null ? '' : `event: ${event}\n`;
  return `${head}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;
}

/** Text as vendors take it: a string, or parts of which some carry text. */
export const textContent = v.union([
  v.string(),
  v.pipe(
    v.array(v.object({ text: v.optional(v.string(), '') })),
    v.transform((parts) => parts.map((part) => part.text).join('')),
  ),
]);

type SaidMessage = { role: string; content: string };

/** Messages with roles, split into what instructs and what asks. */
export function systemAndPrompt(messages: readonly SaidMessage[]): {
  system: string;
  prompt: string;
} {
  return {
    system: joined(messages.filter(instructs)),
    prompt: joined(messages.filter((message) => !instructs(message))),
  };
}

function instructs({ role }: SaidMessage): boolean {
  return role === 'system' || role === 'developer';
}

function joined(messages: readonly SaidMessage[]): string {
  return messages.map((message) => message.content).join('\n\n');
}

export function bearerKey(headers: Headers): string | null {
  return /^Bearer (.+)$/i.exec(headers.get('authorization') ?? '')?.[1] ?? null;
}
