import * as v from 'valibot';
import type { TransactionType } from '#services/credits/contract.ts';

/** Copied from the contract, which is not loaded before the page itself. */
const types = [
  'purchase',
  'consumption',
  'refund',
  'bonus',
  'other',
] as const satisfies readonly TransactionType[];

/** The query of the credits page. Invalid values are dropped. */
export const HistoryFilter = v.object({
  type: v.fallback(v.optional(v.picklist(types)), undefined),
  month: v.fallback(v.optional(v.pipe(v.string(), v.regex(/^2\d{3}-(0[1-9]|1[0-2])$/))), undefined),
});
export type HistoryFilter = v.InferOutput<typeof HistoryFilter>;
