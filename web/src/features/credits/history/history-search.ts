import * as v from 'valibot';
import type { TransactionType } from '#services/credits/contract.ts';

/** As in the contract, which is not loaded before the page itself. */
const types = [
  'purchase',
  'consumption',
  'refund',
  'bonus',
  'other',
] as const satisfies readonly TransactionType[];

/** What of the history is shown; the query of the credits page. What it cannot be is left out. */
export const HistoryFilter = v.object({
  type: v.fallback(v.optional(v.picklist(types)), undefined),
  month: v.fallback(v.optional(v.pipe(v.string(), v.regex(/^2\d{3}-(0[1-9]|1[0-2])$/))), undefined),
});
export type HistoryFilter = v.InferOutput<typeof HistoryFilter>;
