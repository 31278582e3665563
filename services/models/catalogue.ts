import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as v from 'valibot';
import { modelEntry } from './catalogue/model-entry.ts';
import type { ModelEntry } from './catalogue/model-entry.ts';
import { rowAt, staleAfterDays } from './catalogue/prices.ts';
import type { PriceRow } from './catalogue/prices.ts';
import { SettingsError } from '#services/platform/process/env.ts';
import { providerDefinitions } from './provider-list.ts';
import { strategyIds } from './strategy-list.ts';
import { problemsOf, strategy } from './strategies.ts';
import type { Strategy } from './strategies.ts';

/**
 * The models and strategies of this installation: `catalogue.json`, and over it the operator's file.
 * A process loads it once and passes it on. A run stores what it needs of it.
 */
export type Catalogue = {
  /** The newest day on which a price was read, and a hash of all models and strategies. */
  version: string;
  models: readonly ModelEntry[];
  /** In the order in which they are shown. */
  strategies: readonly Strategy[];
  /** Null for an unlisted model, such as one of the operator's own endpoint. */
  modelOf: (modelId: string) => ModelEntry | null;
  /** Null for an id that is no strategy. */
  strategyOf: (id: string) => Strategy | null;
  /** The price in force at a moment; null for an unlisted model or a time without a price. */
  priceOf: (modelId: string, atIso: string) => PriceRow | null;
  /** The ids of models whose price was read more than 30 days ago, or whose last price has ended. */
  staleModels: (atIso: string) => string[];
};

const ownFile = join(import.meta.dirname, 'catalogue.json');

/**
 * @param modelsFile path of the operator's file, from MODELS_FILE; null for none
 * @throws SettingsError with a line for each fault, which names file, entry and field
 */
export function loadCatalogue(modelsFile: string | null): Catalogue {
  return catalogueWith(modelsFile === null ? [] : [readCatalogueFile(modelsFile)]);
}

/** The catalogue with these files over its own. @throws SettingsError */
export function catalogueWith(files: readonly CatalogueFile[]): Catalogue {
  const own = { ...readCatalogueFile(ownFile), name: 'services/models/catalogue.json' };
  return catalogueOf([own, ...files]);
}

/** A file as it was read: entries that need only an id, because another file may hold the rest. */
export type CatalogueFile = { name: string } & v.InferOutput<typeof entries>;
type Entry = v.InferOutput<typeof entry>;
type Section = 'models' | 'strategies';

const entry = v.looseObject({ id: v.string() });
const entries = v.strictObject({
  $schema: v.optional(v.string()),
  models: v.optional(v.array(entry), []),
  strategies: v.optional(v.array(entry), []),
});

/** What a file may hold. `catalogue.schema.json` is made of it, for editors. */
export const catalogueFile = v.strictObject({
  $schema: v.optional(v.string()),
  models: v.optional(
    v.array(v.strictObject({ ...v.partial(modelEntry).entries, id: modelEntry.entries.id })),
  ),
  strategies: v.optional(
    v.array(v.strictObject({ ...v.partial(strategy).entries, id: strategy.entries.id })),
  ),
});

/** @throws SettingsError when the file cannot be read or has another shape */
export function readCatalogueFile(path: string): CatalogueFile {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    throw new SettingsError([`${path}: cannot be read (${code})`]);
  }
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    // The parser quotes the text, and a file given by mistake may hold keys.
    const place = /\(line \d+ column \d+\)/.exec(error instanceof Error ? error.message : '');
    throw new SettingsError([`${path}: is not valid JSON ${place?.[0] ?? ''}`.trimEnd()]);
  }
  const parsed = v.safeParse(entries, json);
  if (parsed.success) return { name: path, ...parsed.output };
  throw new SettingsError(
    parsed.issues.map((issue) => `${path}: ${v.getDotPath(issue) ?? 'the file'} ${wordsOf(issue)}`),
  );
}

/**
 * Merges the files in order, a later field replacing an earlier one, and checks the whole.
 *
 * @throws SettingsError
 */
function catalogueOf(files: readonly CatalogueFile[]): Catalogue {
  const twice = files.flatMap((file) => [
    ...repeated(file, 'models'),
    ...repeated(file, 'strategies'),
  ]);
  if (twice.length > 0) throw new SettingsError(twice);
  const models = checked(files, 'models', modelEntry);
  const strategies = checked(files, 'strategies', strategy);
  const byId: ReadonlyMap<string, ModelEntry> = new Map(models.map((model) => [model.id, model]));
  const modelOf = (id: string) => byId.get(id) ?? null;
  const priceOf = (id: string, atIso: string) => rowAt(byId.get(id)?.prices ?? [], atIso);
  const broken = [
    ...models.flatMap((model) =>
      model.provider === null || isProvider(model.provider)
        ? []
        : [
            `${fileOf(files, 'models', model.id, 'provider')}: models "${model.id}", provider must be null or one of ${providerDefinitions.map(({ name }) => name).join(', ')}`,
          ],
    ),
    ...strategies.flatMap((each) =>
      problemsOf(each, modelOf).map(
        (problem) => `${fileOf(files, 'strategies', each.id)}: strategies "${each.id}" ${problem}`,
      ),
    ),
    ...strategyIds.flatMap((id) =>
      strategies.some((each) => each.id === id)
        ? []
        : [`${files[0]?.name}: strategies "${id}" is missing`],
    ),
  ];
  if (broken.length > 0) throw new SettingsError(broken);
  return {
    version: versionOf(models, strategies),
    models,
    strategies: strategies.toSorted((one, other) => one.credits - other.credits),
    modelOf,
    strategyOf: (id) => strategies.find((each) => each.id === id) ?? null,
    priceOf,
    staleModels: (atIso) =>
      models
        .filter(({ id, prices }) => prices.length > 0 && isStale(priceOf(id, atIso), atIso))
        .map(({ id }) => id),
  };
}

function repeated(file: CatalogueFile, section: Section): string[] {
  const ids = file[section].map(({ id }) => id);
  return [...new Set(ids.filter((id, index) => ids.indexOf(id) < index))].map(
    (id) => `${file.name}: ${section} "${id}" stands there twice`,
  );
}

function checked<Output>(
  files: readonly CatalogueFile[],
  section: Section,
  schema: v.GenericSchema<unknown, Output>,
): Output[] {
  const merged = new Map<string, Entry>();
  for (const file of files)
    for (const each of file[section]) merged.set(each.id, { ...merged.get(each.id), ...each });
  const results = [...merged.values()].map((each) => ({
    each,
    parsed: v.safeParse(schema, each, { abortPipeEarly: true }),
  }));
  const broken = results.flatMap(({ each, parsed }) =>
    // Without a known id, every other fault only repeats that this is no entry.
    faultsOf(parsed.issues ?? []).map((issue) => {
      const path = v.getDotPath(issue) ?? '';
      const file = fileOf(files, section, each.id, path.split('.')[0]);
      return `${file}: ${section} "${each.id}", ${path} ${wordsOf(issue)}`;
    }),
  );
  if (broken.length > 0) throw new SettingsError(broken);
  return results.flatMap(({ parsed }) => (parsed.success ? [parsed.output] : []));
}

function faultsOf(issues: readonly v.BaseIssue<unknown>[]): readonly v.BaseIssue<unknown>[] {
  const ofId = issues.filter((issue) => v.getDotPath(issue) === 'id');
  return ofId.length > 0 ? ofId : issues;
}

/** The last file that holds the field of the entry, else the last one that holds the entry. */
function fileOf(
  files: readonly CatalogueFile[],
  section: Section,
  id: string,
  field?: string,
): string {
  const holding = files.filter((file) => file[section].some((each) => each.id === id));
  const named = holding.findLast((file) =>
    file[section].some(
      (each) => each.id === id && field !== undefined && Object.hasOwn(each, field),
    ),
  );
  return (named ?? holding.at(-1))?.name ?? '';
}

/** Never the value: a file given by mistake may hold keys. */
function wordsOf(issue: v.BaseIssue<unknown>): string {
  if (issue.kind === 'schema' && issue.received === 'undefined') return 'is missing';
  if (issue.kind === 'schema' && issue.expected === 'never') return 'is not a field of it';
  return issue.expected === null || issue.message.startsWith('must')
    ? issue.message
    : `must be ${issue.expected}`;
}

function isProvider(name: string): boolean {
  return providerDefinitions.some((definition) => definition.name === name);
}

function isStale(row: PriceRow | null, atIso: string): boolean {
  if (row === null) return true;
  return Date.parse(atIso) - Date.parse(row.readOn) > staleAfterDays * 86_400_000;
}

function versionOf(models: readonly ModelEntry[], strategies: readonly Strategy[]): string {
  const newest = models
    .flatMap((model) => model.prices.map((row) => row.readOn))
    .reduce((latest, each) => (each > latest ? each : latest), '');
  const digest = createHash('sha256').update(JSON.stringify({ models, strategies })).digest('hex');
  return `${newest}.${digest.slice(0, 8)}`;
}
