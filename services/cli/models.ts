import { existsSync } from 'node:fs';
import { loadCatalogue } from '#services/models/catalogue.ts';
import { writeChanges } from '#services/models/catalogue/operator-file.ts';
import { checkModels } from '#services/models/catalogue/check.ts';
import type { CheckedProvider, Fault } from '#services/models/catalogue/check.ts';
import { connectedProviders } from '#services/models/catalogue/connected.ts';
import { readOpenRouterList } from '#services/models/catalogue/openrouter-list.ts';
import { differences } from '#services/models/catalogue/sync.ts';
import { openrouterUrl as ownUrl } from '#services/models/providers/openrouter.ts';
import { modelRegistry } from '#services/models/registry.ts';
import { modelsOf } from '#services/models/strategies.ts';
import { SettingsError } from '#services/platform/process/env.ts';
import { printResult, say, table, text, UsageError } from './command.ts';
import type { SettingsCommand } from './command.ts';

const check: SettingsCommand = {
  noun: 'models',
  verb: 'check',
  arguments: '',
  summary: 'Checks keys, ids, one small answer of each seated model, prices and retirements.',
  options: {},
  async runOnSettings(call) {
    const settings = { ...call.env, sandboxUrl: null };
    const catalogue = loadCatalogue(settings.modelsFile);
    const registry = modelRegistry(settings, catalogue);
    const connected = connectedProviders(settings, registry);
    const { providers, faults } = await checkModels({
      catalogue,
      connected,
      offers: await registry.offers(),
      seated: new Set(catalogue.strategies.flatMap(modelsOf)),
      now: Date.now(),
    });
    printResult(call, { providers, faults }, [
      ...table(providers.map(providerRow)),
      ...faults.map(lineOf),
    ]);
    if (connected.length === 0) say('No provider is connected: there is no key to check');
    return faults.length === 0 ? 0 : 1;
  },
};

function providerRow({ name, listed, answered }: CheckedProvider): string[] {
  return [
    name,
    listed === null ? 'not checked' : `${listed} models listed`,
    `${answered} answered`,
  ];
}

function lineOf({ about, problem, remedy }: Fault): string {
  return `${about}: ${problem}; ${remedy}`;
}

const sync: SettingsCommand = {
  noun: 'models',
  verb: 'sync',
  arguments: '',
  summary: "Compares the catalogue with OpenRouter's public list: prices, retirements, new models.",
  options: {
    write: { type: 'boolean', help: 'Merge the differences into MODELS_FILE' },
    since: {
      type: 'string',
      help: 'New models are those listed since this day (default: 90 days ago)',
    },
  },
  async runOnSettings(call) {
    const { modelsFile, providerUrls } = call.env;
    const writes = call.options['write'] === true;
    if (writes && modelsFile === null)
      throw new SettingsError(['MODELS_FILE must name the file to write, such as models.json']);
    const now = Date.now();
    const since = sinceOf(text(call, 'since'), now);
    // The file to write may not exist yet.
    const catalogue = loadCatalogue(
      modelsFile !== null && existsSync(modelsFile) ? modelsFile : null,
    );
    const found = differences(catalogue, await readOpenRouterList(providerUrls['openrouter'] ?? ownUrl), {
      now,
      since,
    });
    const changes = found.flatMap(({ model, change }) => (change ? [{ model, change }] : []));
    if (writes && modelsFile !== null && changes.length > 0) writeChanges(modelsFile, changes);
    printResult(call, found, table(found.map(({ kind, model, what }) => [kind, model, what])));
    say(
      changes.length === 0
        ? 'There is nothing to write'
        : writes
          ? `Wrote ${changes.length} of them to ${modelsFile}; a restart uses them`
          : 'Nothing was written; --write merges them into MODELS_FILE',
    );
    return found.length === 0 || (writes && changes.length === found.length) ? 0 : 1;
  },
};

function sinceOf(given: string | undefined, now: number): number {
  if (given === undefined) return now - newDays * 86_400_000;
  const at = /^\d{4}-\d\d-\d\d$/.test(given) ? Date.parse(given) : Number.NaN;
  if (Number.isNaN(at)) throw new UsageError('--since must be a day such as 2026-09-01');
  return at;
}

const newDays = 90;

export const modelCommands: readonly SettingsCommand[] = [check, sync];
