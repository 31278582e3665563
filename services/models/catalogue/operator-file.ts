import { existsSync, renameSync, writeFileSync } from 'node:fs';
import { catalogueWith, readCatalogueFile } from '#services/models/catalogue.ts';
import { SettingsError } from '#services/platform/process/env.ts';
import type { ModelEntry } from './model-entry.ts';

/**
 * Merges changes of models into the operator's file, which is created when it is missing. A file that
 * would stop the next start is not written.
 *
 * @param path MODELS_FILE
 * @throws SettingsError
 */
export function writeChanges(
  path: string,
  changes: readonly { model: string; change: Partial<ModelEntry> }[],
): void {
  const { name, ...file } = existsSync(path)
    ? readCatalogueFile(path)
    : { name: path, models: [], strategies: [] };
  const models = new Map(file.models.map((entry) => [entry.id, entry]));
  for (const { model, change } of changes)
    models.set(model, { ...models.get(model), ...change, id: model });
  const merged = { ...file, models: [...models.values()] };
  catalogueWith([{ name, ...merged }]);
  const draft = `${path}.${process.pid}`;
  try {
    writeFileSync(draft, `${JSON.stringify(merged, null, 2)}\n`);
    renameSync(draft, path);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    throw new SettingsError([`${path}: cannot be written (${code})`]);
  }
}
