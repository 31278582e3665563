import type { RefineRequest } from '#services/optimizations/contract/refinement.ts';
import { onSessionEnd } from '#web/features/identity/sessions/session.ts';

/**
 * What a user is writing to refine a result, kept while the page is open: closing the composer, or
 * moving from the chamber to the result, loses no text.
 */
export type Draft = {
  readonly kind: 'fact' | 'instruction' | 'contested';
  readonly text: string;
  /** The last sent request, while its outcome is unknown: a repeat must reach the same refinement. */
  readonly sent: { readonly request: string; readonly key: string } | null;
};

const drafts = new Map<string, Draft>();
// One user's words must not reach the next.
onSessionEnd(() => drafts.clear());

/**
 * @param claimId the claim that is different for the user; null for the whole result, `missingPlace`
 *   for missing facts
 */
export function draftOf(runId: string, claimId: string | null): Draft | null {
  return drafts.get(keyOf(runId, claimId)) ?? null;
}

export function keepDraft(runId: string, claimId: string | null, draft: Draft): void {
  drafts.set(keyOf(runId, claimId), draft);
}

export function dropDraft(runId: string, claimId: string | null): void {
  drafts.delete(keyOf(runId, claimId));
}

const keyOf = (runId: string, claimId: string | null): string => `${runId} ${claimId ?? ''}`;

/** Stands for the claim where a draft is about missing facts. */
export const missingPlace = 'missing';

/** The draft with a missing fact at its end, to be completed; facts that were added before stay. */
export function withMissing(draft: Draft | null, fact: string): Draft {
  const text = draft?.text.trim() ?? '';
  if (draft !== null && text.includes(fact)) return draft;
  return { kind: 'fact', text: `${text === '' ? '' : `${text}\n`}${fact} `, sent: null };
}

/** Whether a missing fact still waits for the user's words. */
export function isUnanswered({ text }: Draft, fact: string): boolean {
  return text.trim().endsWith(fact.trim());
}

/** The request of a draft at the price that was shown. */
export function requestOf(
  { kind, text }: Draft,
  claimId: string | null,
  price: number,
): RefineRequest {
  switch (kind) {
    case 'fact':
      return { changed_fact: text, ...(claimId === null ? {} : { claim_id: claimId }), price };
    case 'instruction':
      return { instruction: text, price };
    case 'contested':
      return { price };
  }
}

/** The key of a request: the last one's while it is the same and its outcome is unknown. */
export function keyFor({ sent }: Draft, request: RefineRequest): NonNullable<Draft['sent']> {
  const text = JSON.stringify(request);
  return sent?.request === text ? sent : { request: text, key: crypto.randomUUID() };
}
