import * as v from 'valibot';
import { forget, keep, readKept } from '#web/consent/device.ts';

/** What someone is writing; a visitor's and each user's are kept apart. */
const Draft = v.object({ topic: v.string(), message: v.string(), email: v.string() });
export type Draft = v.InferOutput<typeof Draft>;

const keyOf = (userId: string | null) => `sevenfold.draft.${userId ?? 'visitor'}.contact` as const;

/** Null for a missing or unreadable value. */
export function readDraft(userId: string | null): Draft | null {
  const kept = v.safeParse(v.pipe(v.string(), v.parseJson(), Draft), readKept(keyOf(userId)));
  return kept.success ? kept.output : null;
}

export function keepDraft(userId: string | null, draft: Draft): void {
  if (draft.message.trim() === '') forget(keyOf(userId));
  else keep(keyOf(userId), JSON.stringify(draft));
}

export function forgetDraft(userId: string | null): void {
  forget(keyOf(userId));
}
