import * as v from 'valibot';
import { ChallengeType, StrategyId } from '#services/optimizations/contract/summary.ts';
import { IdText } from '#services/platform/contract.ts';
import { forget, keep, readKept } from '#web/consent/device.ts';
import type { Fields } from './fields.ts';
import { filesOf } from './files.ts';
import { rowsOf, textsOf } from './rows.ts';

/**
 * The form as kept on the device, per user. Signing out removes every key that starts with
 * `sevenfold.draft.`.
 */
function draftKey(userId: string) {
  return `sevenfold.draft.${userId}.optimization` as const;
}

/**
 * The keys of one attempt to start. They stay while the fields do, so that a retry after a lost
 * reply reaches the first run.
 */
const Attempt = v.object({
  createKey: v.string(),
  processKey: v.string(),
  /** The run, once its creation was answered. */
  runId: v.nullable(v.string()),
  /** Of the estimate that was shown; a repeat must send the same. */
  catalogueVersion: v.optional(v.nullable(v.string()), null),
});
export type Attempt = v.InferOutput<typeof Attempt>;

const Stored = v.object({
  version: v.literal(1),
  challenge: v.string(),
  context: v.string(),
  objectives: v.array(v.string()),
  constraints: v.array(v.string()),
  /** Optional, as `recipe`. */
  files: v.optional(
    v.array(v.object({ name: v.string(), text: v.string(), warnings: v.array(v.string()) })),
    [],
  ),
  chosenType: v.nullable(ChallengeType),
  strategy: v.nullable(StrategyId),
  allowSimulated: v.boolean(),
  from: v.nullable(v.object({ id: v.string(), challenge: v.string(), ended: v.boolean() })),
  /** Optional: a draft need not come from a recipe. */
  recipe: v.optional(v.nullable(IdText('rec')), null),
  attempt: v.nullable(Attempt),
});

export type Draft = { readonly fields: Fields; readonly attempt: Attempt | null };

export function draftToText({ fields, attempt }: Draft): string {
  const { challenge, context, objectives, constraints, files, ...rest } = fields;
  const stored: v.InferOutput<typeof Stored> = {
    version: 1,
    ...rest,
    challenge,
    context,
    objectives: textsOf(objectives),
    constraints: textsOf(constraints),
    files: files.map(({ name, text, warnings }) => ({ name, text, warnings: [...warnings] })),
    attempt,
  };
  return JSON.stringify(stored);
}

/** Null for a missing or unreadable value. */
export function draftFromText(text: string | null): Draft | null {
  const result = v.safeParse(v.pipe(v.string(), v.parseJson(), Stored), text);
  if (!result.success) return null;
  const { version: _version, objectives, constraints, files, attempt, ...rest } = result.output;
  return {
    fields: {
      ...rest,
      objectives: rowsOf(objectives),
      constraints: rowsOf(constraints),
      files: filesOf(files),
    },
    attempt,
  };
}

export function readDraft(userId: string): Draft | null {
  return draftFromText(readKept(draftKey(userId)));
}

/** Whether the device kept it: storage may be full, forbidden or not agreed to. */
export function writeDraft(userId: string, draft: Draft): boolean {
  return keep(draftKey(userId), draftToText(draft));
}

export function removeDraft(userId: string): void {
  forget(draftKey(userId));
}
