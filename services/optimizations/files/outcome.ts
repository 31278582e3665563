import * as v from 'valibot';
import { optimizationLimits } from '#services/optimizations/contract/requests.ts';

/** Why a file has no text that could be used. */
const Unreadable = v.picklist([
  'damaged',
  'protected',
  'macros',
  'not_word',
  'not_text',
  'too_much',
]);
export type Unreadable = v.InferOutput<typeof Unreadable>;

/** What the reading process answers; a file may have taken it over. */
export const Outcome = v.union([
  v.object({
    text: v.pipe(v.string(), v.maxLength(optimizationLimits.filesText)),
    /** Null for a format without pages. */
    pagesRead: v.nullable(v.number()),
    /** In words, what is missing or uncertain. */
    warnings: v.array(v.pipe(v.string(), v.maxLength(200))),
  }),
  v.object({ unreadable: Unreadable }),
]);
export type Outcome = v.InferOutput<typeof Outcome>;
