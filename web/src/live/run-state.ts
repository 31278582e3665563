import type { Delta, Fact } from '#services/live/contract.ts';
import { applyPatch, type RunView, withStreamed } from '#services/optimizations/reading/view.ts';

/**
 * One run as this page knows it: the folded view, and the words of unfinished calls. Everything
 * here is pure. The stream may send a message twice, late or out of order; the resulting state is
 * the same.
 */
export type StreamingText = {
  readonly attempt: number;
  /** All characters the call has written, whether or not this page received them. */
  readonly end: number;
  readonly text: string;
};

export type RunState = {
  readonly view: RunView;
  /** By slot; removed when the call ends. */
  readonly texts: Readonly<Record<string, StreamingText>>;
  /**
   * Facts that arrived before their predecessor. Only the missing fact or a fresh copy of the run
   * resolves them.
   */
  readonly held: readonly Fact[];
};

const mostText = 40_000;
/** The limit on waiting facts; a fresh copy replaces them long before. */
const mostHeld = 500;

/** Applies a whole copy of the run; a copy older than the state is ignored. */
export function withCopy(state: RunState | null, copy: RunView): RunState {
  if (state && copy.version < state.view.version) return state;
  const view = state ? withStreamed(copy, streamedIn(state.view)) : copy;
  const facts = (state?.held ?? []).toSorted((one, other) => one.version - other.version);
  const begun: RunState = { view, texts: openTexts(state?.texts ?? {}, view), held: [] };
  return facts.reduce(withFact, begun);
}

/** Applies a fact of this run; a known one changes nothing. */
export function withFact(state: RunState, fact: Fact): RunState {
  const { view, held } = state;
  if (fact.entity.kind !== 'run' || fact.entity.id !== view.id) return state;
  if (fact.version <= view.version) return state;
  if (fact.version > view.version + 1) {
    if (held.some((one) => one.version === fact.version)) return state;
    return { ...state, held: [...held, fact].slice(-mostHeld) };
  }
  const next = applyPatch(view, fact.patch, fact.version);
  const rest = held.filter((one) => one.version > next.version);
  const following = rest.find((one) => one.version === next.version + 1);
  const applied = { view: next, texts: openTexts(state.texts, next), held: rest };
  return following ? withFact(applied, following) : applied;
}

/** Applies more words of a call. Known words are skipped, gaps are marked. */
export function withDelta(state: RunState, delta: Delta): RunState {
  const { view, texts } = state;
  if (delta.run !== view.id || isClosed(view, delta.slot, delta.attempt)) return state;
  const known = texts[delta.slot];
  if (known && delta.attempt < known.attempt) return state;
  const before = known && known.attempt === delta.attempt ? known : null;
  const end = delta.offset + delta.text.length;
  const progressed = withStreamed(view, [{ slot: delta.slot, progress: delta.progress }]);
  if (before && end <= before.end) {
    return progressed === view ? state : { ...state, view: progressed };
  }
  const text = before ? joined(before, delta) : delta.offset > 0 ? `… ${delta.text}` : delta.text;
  const next = { attempt: delta.attempt, end, text: text.slice(-mostText) };
  return { ...state, view: progressed, texts: { ...texts, [delta.slot]: next } };
}

/** Whether a fact is missing, so that a fresh copy is needed. */
export function isTorn(state: RunState): boolean {
  return state.held.length > 0;
}

function joined(before: StreamingText, delta: Delta): string {
  if (delta.offset > before.end) return `${before.text} … ${delta.text}`;
  return before.text + delta.text.slice(before.end - delta.offset);
}

/** Text of an ended call or an earlier attempt is no longer live. */
function isClosed(view: RunView, slot: string, attempt: number): boolean {
  const call = view.calls[slot];
  if (view.stage === 'closed' || view.stage === 'settling') return true;
  if (!call) return false;
  const latest = Math.max(0, ...Object.keys(call.attempts).map(Number));
  const status = call.attempts[attempt]?.status;
  return call.outcome !== null || attempt < latest || (status !== undefined && status !== 'open');
}

function openTexts(texts: RunState['texts'], view: RunView): RunState['texts'] {
  const entries = Object.entries(texts);
  const open = entries.filter(([slot, text]) => !isClosed(view, slot, text.attempt));
  return open.length === entries.length ? texts : Object.fromEntries(open);
}

function streamedIn(view: RunView): { slot: string; progress: number }[] {
  return Object.entries(view.calls).map(([slot, call]) => ({
    slot,
    progress: call.streamed * 100,
  }));
}
