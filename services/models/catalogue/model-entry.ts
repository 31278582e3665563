import * as v from 'valibot';
import { efforts, structuredOutputs } from '#services/models/model.ts';
import { tiers } from '#services/models/offer.ts';
import { isVisibleLine } from '#services/platform/visible-text.ts';
import { isoTime, priceRows } from './prices.ts';

const tokens = v.pipe(v.number(), v.integer(), v.minValue(1));

/** A name or a sentence, which terminals and pages print. */
export const visibleLine = v.pipe(
  v.string(),
  v.minLength(1),
  v.check(isVisibleLine, 'must be visible text on one line'),
);

/** A model of the catalogue: what it can do, who serves it, and what it cost at any moment. */
export const modelEntry = v.strictObject({
  id: v.pipe(
    v.string(),
    v.regex(
      /^[a-z0-9][a-z0-9.-]{1,79}$/,
      'must be 2 to 80 lower-case letters, digits, points and hyphens',
    ),
    // An alias moves to another model, and its price with it.
    v.check((id) => !id.endsWith('-latest'), 'must be the id of one model, not an alias'),
  ),
  displayName: v.pipe(visibleLine, v.maxLength(60)),
  /** The maker. Seats of one family share their weight in every vote. */
  family: v.pipe(visibleLine, v.maxLength(40)),
  /** The provider that is the maker's own; null for a model served by others only. */
  provider: v.optional(v.nullable(v.string()), null),
  tier: v.picklist(tiers),
  contextTokens: tokens,
  maxOutputTokens: tokens,
  structuredOutput: v.picklist(structuredOutputs),
  /** Empty: the model has no such setting. */
  efforts: v.optional(v.array(v.picklist(efforts)), []),
  /** The ids by which other providers know it, by the provider's name. */
  remoteIds: v.optional(v.record(v.string(), v.pipe(v.string(), v.minLength(1))), {}),
  prices: v.optional(priceRows, []),
  /** When the maker retires it; null when no date is announced. */
  retiresAt: v.optional(v.nullable(isoTime), null),
});

export type ModelEntry = v.InferOutput<typeof modelEntry>;
