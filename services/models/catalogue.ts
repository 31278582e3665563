import { createHash } from 'node:crypto';
import * as v from 'valibot';
import { modelList } from './model-list.ts';
import type { UsageRecord } from './model.ts';

/**
 * The catalogue of models: what each can do and what it cost at any moment. A dollar per million
 * tokens is a micro-dollar per token, so a cost is a sum of products, rounded once at the end.
 */

const isoTime = v.pipe(v.string(), v.isoTimestamp(), v.endsWith('Z'));

/** At most four decimals, so that a price is a whole number of ten-thousandths. */
const price = v.pipe(
  v.number(),
  v.minValue(0),
  v.maxValue(1000),
  v.check(
    (value) => Math.abs(Math.round(value * unitsPerPrice) - value * unitsPerPrice) < 1e-6,
    'must have at most four decimals',
  ),
);

const unitsPerPrice = 10_000;

const rates = {
  inputPerMTok: price,
  /** Null: no source names it, and cached input counts as input. */
  cachedInputPerMTok: v.nullable(price),
  /** Null: no source names it, and written input counts as input. */
  cacheWritePerMTok: v.nullable(price),
  /** Thinking is billed as output by every provider here. */
  outputPerMTok: price,
};

const priceRow = v.strictObject({
  /** Inclusive; null when no earlier price is known. */
  validFrom: v.nullable(isoTime),
  /** Exclusive; null when no end is announced. */
  validTo: v.nullable(isoTime),
  source: v.pipe(v.string(), v.url()),
  /** The day on which the price was read at its source. */
  readOn: v.pipe(v.string(), v.isoDate()),
  ...rates,
  /** Above this much input the whole request has these prices. */
  longContext: v.nullable(
    v.strictObject({ aboveInputTokens: v.pipe(v.number(), v.integer(), v.minValue(1)), ...rates }),
  ),
});

const effort = v.picklist(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']);

const modelEntry = v.strictObject({
  id: v.pipe(
    v.string(),
    v.regex(/^[a-z0-9][a-z0-9.-]{1,79}$/),
    // An alias moves to another model, and its price with it.
    v.check((id) => !id.endsWith('-latest'), 'must be the id of one model, not an alias'),
  ),
  provider: v.picklist(['openai', 'anthropic', 'google', 'mistral']),
  displayName: v.pipe(v.string(), v.minLength(1)),
  /** Seats of one family share their weight in every vote. */
  family: v.pipe(v.string(), v.minLength(1)),
  capabilities: v.strictObject({
    temperature: v.boolean(),
    /** Empty: the model has no such setting. */
    effortLevels: v.array(effort),
    jsonSchema: v.boolean(),
    contextTokens: v.pipe(v.number(), v.integer()),
    maxOutputTokens: v.pipe(v.number(), v.integer()),
  }),
  prices: v.pipe(
    v.array(priceRow),
    v.minLength(1),
    v.check(
      (rows) => isContiguous(rows),
      'must follow each other in time without a gap or an overlap',
    ),
  ),
  /** The provider's date of retirement; null when none is announced. */
  deprecatedAfter: v.nullable(isoTime),
});

const catalogue = v.pipe(
  v.array(modelEntry),
  v.check(
    (entries) => new Set(entries.map((entry) => entry.id)).size === entries.length,
    'must name each model once',
  ),
);

export type ModelEntry = v.InferOutput<typeof modelEntry>;
export type PriceRow = v.InferOutput<typeof priceRow>;

/** @throws ValiError when a row is broken */
export function parseCatalogue(list: unknown): readonly ModelEntry[] {
  return v.parse(catalogue, list);
}

/** Every model that a strategy may seat. */
export const models: readonly ModelEntry[] = parseCatalogue(modelList);

/** Changes with any figure in the catalogue: events name it beside the prices that they used. */
export const catalogueVersion: string = versionOf(models);

const byId: ReadonlyMap<string, ModelEntry> = new Map(models.map((entry) => [entry.id, entry]));

/** Null for a model that the catalogue does not list, such as one of an endpoint of the operator's. */
export function modelOf(modelId: string): ModelEntry | null {
  return byId.get(modelId) ?? null;
}

/** The price in force at a moment; null for an unlisted model or a time before its first price. */
export function priceOf(modelId: string, atIso: string): PriceRow | null {
  return byId.get(modelId)?.prices.find((row) => covers(row, atIso)) ?? null;
}

/**
 * What a call cost in whole micro-dollars (0.000001 USD), half rounded up. Null when the usage or
 * the price is unknown; a count that the provider does not break out is part of another one.
 */
export function costMicros(usage: UsageRecord, modelId: string, atIso: string): number | null {
  const row = priceOf(modelId, atIso);
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

const staleAfterDays = 30;

/** The ids of models whose price in force was read more than 30 days ago, or that have none. */
export function staleModels(atIso: string, among: readonly ModelEntry[] = models): string[] {
  return among.filter((entry) => isStale(entry, atIso)).map((entry) => entry.id);
}

function isStale(entry: ModelEntry, atIso: string): boolean {
  const row = entry.prices.find((each) => covers(each, atIso));
  if (row === undefined) return true;
  return Date.parse(atIso) - Date.parse(row.readOn) > staleAfterDays * 86_400_000;
}

function covers(row: Window, atIso: string): boolean {
  const at = Date.parse(atIso);
  return (
    (row.validFrom === null || Date.parse(row.validFrom) <= at) &&
    (row.validTo === null || at < Date.parse(row.validTo))
  );
}

type Window = { validFrom: string | null; validTo: string | null };

function isContiguous(rows: readonly Window[]): boolean {
  return rows.every((row, index) => {
    const next = rows[index + 1];
    const runsForward =
      row.validFrom === null || row.validTo === null || row.validFrom < row.validTo;
    return (
      runsForward &&
      (next === undefined || (row.validTo !== null && row.validTo === next.validFrom))
    );
  });
}

/** Whole ten-thousandths of a micro-dollar per token. */
function unitsOf(perMTok: number): number {
  return Math.round(perMTok * unitsPerPrice);
}

function versionOf(entries: readonly ModelEntry[]): string {
  const newest = entries
    .flatMap((entry) => entry.prices.map((row) => row.readOn))
    .reduce((latest, each) => (each > latest ? each : latest), '');
  const digest = createHash('sha256').update(JSON.stringify(entries)).digest('hex');
  return `${newest}.${digest.slice(0, 8)}`;
}
