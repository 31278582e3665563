import { createHash } from 'node:crypto';
import * as v from 'valibot';
import type { UsageRecord } from './model.ts';
import { providerDefinitions } from './provider-list.ts';
import { modelEntry, unitsPerPrice } from './provider.ts';
import type { ModelEntry, PriceRow } from './provider.ts';

/**
 * The catalogue of models: what each can do and what it cost at any moment. A dollar per million
 * tokens is a micro-dollar per token, so a cost is a sum of products, rounded once at the end.
 */

const catalogue = v.pipe(
  v.array(modelEntry),
  v.check(
    (entries) => new Set(entries.map((entry) => entry.id)).size === entries.length,
    'must name each model once',
  ),
);

/** @throws ValiError when a row is broken */
export function parseCatalogue(list: unknown): readonly ModelEntry[] {
  return v.parse(catalogue, list);
}

/** Every model that a strategy may seat. */
export const models: readonly ModelEntry[] = parseCatalogue(
  providerDefinitions.flatMap(({ name, models: own }) =>
    own.map((entry) => ({ ...entry, provider: name })),
  ),
);

/** Changes with any figure in the catalogue: events name it beside the prices that they used. */
export const catalogueVersion: string = versionOf(models);

const byId: ReadonlyMap<string, ModelEntry> = new Map(models.map((entry) => [entry.id, entry]));

/** Null for an unlisted model, such as one of the operator's own endpoint. */
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

/** The ids of models without a price, or with one that was read more than 30 days ago. */
export function staleModels(atIso: string): string[] {
  return models.filter((entry) => isStale(entry, atIso)).map((entry) => entry.id);
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
