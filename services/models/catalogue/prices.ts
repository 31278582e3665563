import * as v from 'valibot';
import type { UsageRecord } from '#services/models/model.ts';

/**
 * Dated prices of models. A dollar per million tokens is a micro-dollar per token, so a cost is a sum
 * of products, rounded once at the end.
 */

export const isoTime = v.pipe(
  v.string(),
  v.isoTimestamp('must be an ISO time such as 2027-01-01T00:00:00.000Z'),
  v.endsWith('Z', 'must be a time in UTC, which ends in Z'),
);

/** A price is a whole number of ten-thousandths of a micro-dollar per token. */
const unitsPerPrice = 10_000;

const price = v.pipe(
  v.number(),
  v.minValue(0),
  v.maxValue(1000),
  v.check(
    (value) => Math.abs(Math.round(value * unitsPerPrice) - value * unitsPerPrice) < 1e-6,
    'must have at most four decimals',
  ),
);

/** US dollars per million tokens in the provider's standard tier. */
const rates = {
  inputPerMTok: price,
  /** Null: no source names it, and cached input counts as input. */
  cachedInputPerMTok: v.optional(v.nullable(price), null),
  /** Null: no source names it, and written input counts as input. */
  cacheWritePerMTok: v.optional(v.nullable(price), null),
  /** Thinking is billed as output by every provider here. */
  outputPerMTok: price,
};

/**
 * Where sources disagree, the provider's own page wins, then the higher figure. A promotion is a row
 * of its own that ends.
 */
export const priceRow = v.strictObject({
  /** Inclusive; null when no earlier price is known. */
  validFrom: v.optional(v.nullable(isoTime), null),
  /** Exclusive; null when no end is announced. */
  validTo: v.optional(v.nullable(isoTime), null),
  source: v.pipe(v.string(), v.url('must be the address of a page about this model')),
  /** The day on which the price was read at its source. */
  readOn: v.pipe(v.string(), v.isoDate('must be a day such as 2026-11-20')),
  ...rates,
  /** Above this much input the whole request has these prices. */
  longContext: v.optional(
    v.nullable(
      v.strictObject({
        aboveInputTokens: v.pipe(v.number(), v.integer(), v.minValue(1)),
        ...rates,
      }),
    ),
    null,
  ),
});

export type PriceRow = v.InferOutput<typeof priceRow>;

export const priceRows = v.pipe(
  v.array(priceRow),
  v.check(
    (rows) => isContiguous(rows),
    'must follow each other in time without a gap or an overlap',
  ),
);

/** A price that was read so long ago counts as stale. */
export const staleAfterDays = 30;

/** The row in force at a moment; null when there is none. */
export function rowAt(rows: readonly PriceRow[], atIso: string): PriceRow | null {
  const at = Date.parse(atIso);
  return rows.find((row) => startOf(row) <= at && at < endOf(row)) ?? null;
}

/** The row in force of one model, whose id may be any text, also `constructor`. */
export function rowOf(
  rows: Readonly<Record<string, readonly PriceRow[]>>,
  model: string,
  atIso: string,
): PriceRow | null {
  return Object.hasOwn(rows, model) ? rowAt(rows[model] ?? [], atIso) : null;
}

/** The rows in force at some moment between the two, both included. */
export function rowsBetween(
  rows: readonly PriceRow[],
  fromIso: string,
  toIso: string,
): readonly PriceRow[] {
  const [from, to] = [Date.parse(fromIso), Date.parse(toIso)];
  return rows.filter((row) => startOf(row) <= to && from < endOf(row));
}

/**
 * What a call cost in whole micro-dollars (0.000001 USD), half rounded up. Null when the usage or
 * the price is unknown; a count that the provider does not break out is part of another one.
 */
export function costMicros(usage: UsageRecord, row: PriceRow | null): number | null {
  if (row === null || usage.inputUncached === null || usage.outputVisible === null) return null;
  const cached = usage.inputCached ?? 0;
  const written = usage.cacheWrite ?? 0;
  const output = usage.outputVisible + (usage.outputThinking ?? 0);
  const input = usage.inputUncached + cached + written;
  const tier =
    row.longContext !== null && input > row.longContext.aboveInputTokens ? row.longContext : row;
  const units =
    usage.inputUncached * unitsOf(tier.inputPerMTok) +
    cached * unitsOf(tier.cachedInputPerMTok ?? tier.inputPerMTok) +
    written * unitsOf(tier.cacheWritePerMTok ?? tier.inputPerMTok) +
    output * unitsOf(tier.outputPerMTok);
  return Math.floor((units + unitsPerPrice / 2) / unitsPerPrice);
}

function startOf({ validFrom }: PriceRow): number {
  return validFrom === null ? Number.NEGATIVE_INFINITY : Date.parse(validFrom);
}

function endOf({ validTo }: PriceRow): number {
  return validTo === null ? Number.POSITIVE_INFINITY : Date.parse(validTo);
}

/** Whole ten-thousandths of a micro-dollar per token. */
function unitsOf(perMTok: number): number {
  return Math.round(perMTok * unitsPerPrice);
}

function isContiguous(rows: readonly PriceRow[]): boolean {
  return rows.every((row, index) => {
    const next = rows[index + 1];
    return startOf(row) < endOf(row) && (next === undefined || endOf(row) === startOf(next));
  });
}
