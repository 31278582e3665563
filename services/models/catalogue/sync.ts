import * as v from 'valibot';
import type { Catalogue } from '#services/models/catalogue.ts';
import { modelEntry } from './model-entry.ts';
import type { ModelEntry } from './model-entry.ts';
import type { ListedModel, Rates } from './openrouter-list.ts';
import { rowAt, staleAfterDays } from './prices.ts';
import type { PriceRow } from './prices.ts';

/** What the public list says otherwise than the catalogue. `change` null: a person has to decide. */
export type Difference = {
  kind: 'new' | 'price' | 'confirmed' | 'retirement' | 'gone';
  model: string;
  remoteId: string;
  /** In words, such as `input 0.1 → 0.2`. */
  what: string;
  /** The fields for the operator's file. */
  change: Partial<ModelEntry> | null;
};

/**
 * Compares the catalogue with OpenRouter's list: changed prices, prices that are old and still right,
 * retirements, and models of the catalogue's makers that were listed since `since`.
 *
 * @param at `now` and `since` in milliseconds since the epoch
 */
export function differences(
  { models }: Pick<Catalogue, 'models'>,
  listed: readonly ListedModel[],
  at: { now: number; since: number },
): Difference[] {
  const byRemoteId = new Map(listed.map((each) => [each.remoteId, each]));
  const known = models.flatMap((entry) => {
    const remoteId = entry.remoteIds['openrouter'];
    return remoteId === undefined ? [] : [{ entry, remoteId, listed: byRemoteId.get(remoteId) }];
  });
  return [
    ...known.flatMap((each) =>
      each.listed === undefined
        ? [gone(each.entry, each.remoteId)]
        : [...priceOf(each.entry, each.listed, at.now), ...retirementOf(each.entry, each.listed)],
    ),
    ...newModels(models, listed, at),
  ];
}

function gone({ id }: ModelEntry, remoteId: string): Difference {
  return {
    kind: 'gone',
    model: id,
    remoteId,
    what: `no longer listed; correct models "${id}", remoteIds.openrouter in MODELS_FILE`,
    change: null,
  };
}

function priceOf(entry: ModelEntry, listed: ListedModel, now: number): Difference[] {
  const { price, remoteId } = listed;
  if (price === null) return [];
  const nowIso = new Date(now).toISOString();
  const read = { source: `https://openrouter.ai/${remoteId}`, readOn: nowIso.slice(0, 10) };
  const row = rowAt(entry.prices, nowIso);
  const changed =
    row === null ? allRates : allRates.filter((name) => differs(row[name], price[name]));
  const model = { model: entry.id, remoteId };
  if (row !== null && changed.length === 0) {
    if (now - Date.parse(row.readOn) <= staleAfterDays * dayMs) return [];
    const prices = entry.prices.map((each) => (each === row ? { ...each, ...read } : each));
    const what = `the price read on ${row.readOn} is still right`;
    return [{ kind: 'confirmed', ...model, what, change: { prices } }];
  }
  const longContext = listed.longContext ?? row?.longContext ?? null;
  const prices = withRow(entry.prices, { ...completed(price, row), ...read, longContext }, nowIso);
  const what = changed
    .filter((name) => price[name] !== null)
    .map((name) => `${words[name]} ${row?.[name] ?? 'unknown'} → ${price[name]}`)
    .join(', ');
  return [{ kind: 'price', ...model, what, change: { prices } }];
}

const dayMs = 86_400_000;

const words = {
  inputPerMTok: 'input',
  cachedInputPerMTok: 'cached input',
  cacheWritePerMTok: 'cache write',
  outputPerMTok: 'output',
} as const;
const allRates = Object.keys(words) as (keyof Rates)[];

/** A rate that either side does not know is no difference. */
function differs(was: number | null, now: number | null): boolean {
  return was !== null && now !== null && was !== now;
}

/** The list's rates; where it names none, the row's own. */
function completed(price: Rates, row: PriceRow | null): Rates {
  return {
    ...price,
    cachedInputPerMTok: price.cachedInputPerMTok ?? row?.cachedInputPerMTok ?? null,
    cacheWritePerMTok: price.cacheWritePerMTok ?? row?.cacheWritePerMTok ?? null,
  };
}

/** The rows with another one from now on, until the present one would have ended. */
function withRow(
  rows: readonly PriceRow[],
  row: Omit<PriceRow, 'validFrom' | 'validTo'>,
  nowIso: string,
): PriceRow[] {
  const now = Date.parse(nowIso);
  const current = rowAt(rows, nowIso);
  const past = rows.filter((each) => each.validTo !== null && Date.parse(each.validTo) <= now);
  const future = rows.filter((each) => each.validFrom !== null && Date.parse(each.validFrom) > now);
  return [
    ...past,
    ...(current === null ? [] : [{ ...current, validTo: nowIso }]),
    {
      ...row,
      validFrom: current === null ? (past.at(-1)?.validTo ?? null) : nowIso,
      validTo: current === null ? (future[0]?.validFrom ?? null) : current.validTo,
    },
    ...future,
  ];
}

function retirementOf(entry: ModelEntry, { remoteId, retiresAt }: ListedModel): Difference[] {
  if (retiresAt === null || retiresAt === entry.retiresAt) return [];
  const what = `retires on ${retiresAt.slice(0, 10)}`;
  return [{ kind: 'retirement', model: entry.id, remoteId, what, change: { retiresAt } }];
}

function newModels(
  models: readonly ModelEntry[],
  listed: readonly ListedModel[],
  { now, since }: { now: number; since: number },
): Difference[] {
  const remoteIds = new Set(models.map((entry) => entry.remoteIds['openrouter']));
  const ids = new Set(models.map((entry) => entry.id));
  const families = new Map(
    models.flatMap(({ family, remoteIds: { openrouter } }) =>
      openrouter === undefined ? [] : [[makerOf(openrouter), family] as const],
    ),
  );
  return listed.flatMap((each) => {
    const family = families.get(makerOf(each.remoteId));
    if (family === undefined || each.listedAt < since || remoteIds.has(each.remoteId)) return [];
    const entry = entryOf(each, family, now);
    // Aliases, variants such as `:free`, and ids that the catalogue uses for another model.
    if (entry === null || ids.has(entry.id)) return [];
    const { inputPerMTok, outputPerMTok } = entry.prices[0]!;
    const what = `${entry.displayName} of ${family}, ${entry.tier}, input ${inputPerMTok}, output ${outputPerMTok}`;
    return [{ kind: 'new', model: entry.id, remoteId: each.remoteId, what, change: entry }];
  });
}

function makerOf(remoteId: string): string {
  return remoteId.split('/')[0] ?? '';
}

/** Null for what cannot stand in the catalogue. It is served by the router until a provider is named. */
function entryOf(listed: ListedModel, family: string, now: number): ModelEntry | null {
  if (listed.price === null || listed.retiresAt !== null) return null;
  const parsed = v.safeParse(modelEntry, {
    id: listed.remoteId.slice(listed.remoteId.indexOf('/') + 1).toLowerCase(),
    displayName: listed.name.replace(/^[^:]+:\s*/, ''),
    family,
    provider: null,
    tier: tierOf(listed.price),
    contextTokens: listed.contextTokens,
    // Prompt and reply share the context where the list names no bound of the reply.
    maxOutputTokens: listed.maxOutputTokens ?? Math.floor(listed.contextTokens / 2),
    structuredOutput: listed.structuredOutput,
    efforts: listed.efforts,
    remoteIds: { openrouter: listed.remoteId },
    prices: [
      {
        ...listed.price,
        validFrom: null,
        validTo: null,
        source: `https://openrouter.ai/${listed.remoteId}`,
        readOn: new Date(now).toISOString().slice(0, 10),
        longContext: listed.longContext,
      },
    ],
    retiresAt: null,
  });
  return parsed.success ? parsed.output : null;
}

/** By the price of its output, which is what makers position a model by. */
function tierOf({ outputPerMTok }: Rates): ModelEntry['tier'] {
  if (outputPerMTok < 3) return 'small';
  if (outputPerMTok < 10) return 'mid';
  return outputPerMTok < 30 ? 'strong' : 'flagship';
}
