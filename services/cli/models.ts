import { existsSync } from 'node:fs';
import { loadCatalogue } from '#services/models/catalogue.ts';
import type { Catalogue } from '#services/models/catalogue.ts';
import { checkModels } from '#services/models/catalogue/check.ts';
import type { CheckedProvider, Fault } from '#services/models/catalogue/check.ts';
import { connectedProviders } from '#services/models/catalogue/connected.ts';
import type { ModelEntry } from '#services/models/catalogue/model-entry.ts';
import { writeChanges } from '#services/models/catalogue/operator-file.ts';
import { readOpenRouterList } from '#services/models/catalogue/openrouter-list.ts';
import { differences } from '#services/models/catalogue/sync.ts';
import { everyModel } from '#services/models/estimate.ts';
import { isFree } from '#services/models/offer.ts';
import type { Offer } from '#services/models/offer.ts';
import { providerDefinitions } from '#services/models/provider-list.ts';
import { openrouter } from '#services/models/providers/openrouter.ts';
import { modelRegistry } from '#services/models/registry.ts';
import type { ModelRegistry } from '#services/models/registry.ts';
import { modelsOf } from '#services/models/strategies.ts';
import { describePanel, panelSentence, usualPanels } from '#services/optimizations/panel.ts';
import type { Panel } from '#services/optimizations/panel.ts';
import { cheapestCredit } from '#services/payments/catalogue.ts';
import { lanesOf } from '#services/models/waiting.ts';
import { SettingsError } from '#services/platform/process/env.ts';
import type { Env } from '#services/platform/process/env.ts';
import { printResult, say, table, text, UsageError } from './command.ts';
import type { SettingsCommand } from './command.ts';
import { dayOf } from './time.ts';

// ── list ────────────────────────────────────────────────────────────────────────────────────────

const list: SettingsCommand = {
  noun: 'models',
  verb: 'list',
  arguments: '[<strategy>]',
  summary: 'Shows which models the current keys seat, and why a wanted model is missing.',
  options: {},
  async runOnSettings(call) {
    const { env } = call;
    const catalogue = loadCatalogue(env.modelsFile);
    // Only a worker needs the sandbox's address.
    const standIn = env.mode === 'local' ? 'http://127.0.0.1:1' : null;
    const settings = { ...env, sandboxUrl: env.sandboxUrl ?? standIn };
    const registry = modelRegistry(settings, catalogue);
    const offers = await registry.offers();
    const seated = await panels(env, catalogue, registry);
    const named = call.positionals[0];
    if (named !== undefined) {
      const panel = seated.find(({ strategy }) => strategy.id === named);
      if (!panel)
        throw new UsageError(
          `Unknown strategy. Choose one of ${catalogue.strategies.map(({ id }) => id).join(', ')}`,
        );
      printResult(call, documentOf(panel, catalogue), seatLines(panel));
      return panel.unavailable === null ? 0 : 1;
    }
    printResult(
      call,
      {
        models: offers,
        strategies: seated.map((panel) => documentOf(panel, catalogue)),
      },
      [
        ...table([
          ...offers.map((offer) => offerRow(catalogue, offer, new Date().toISOString())),
          ...missingRows(catalogue, offers),
        ]),
        '',
        ...table(seated.map((panel) => [panel.strategy.id, panelSentence(panel)])),
      ],
    );
    return 0;
  },
};

/** Every strategy with a question of the usual length. */
async function panels(
  { mode, substituteModels, compatibleEndpoints }: Env,
  catalogue: Catalogue,
  registry: ModelRegistry,
): Promise<Panel[]> {
  return usualPanels({
    catalogue,
    registry,
    // Without the database, what calls and runs took here is not known.
    readLanes: async (providers) => lanesOf(providers, compatibleEndpoints),
    readDurations: async () => [],
    isLocal: mode === 'local',
    substituteModels,
    creditUsd: cheapestCredit,
  });
}

function documentOf(panel: Panel, catalogue: Catalogue): object {
  return { strategy: panel.strategy.id, ...describePanel(panel, catalogue) };
}

function seatLines(seating: Panel): string[] {
  const reasonOf = (code: string) =>
    seating.substitutions.find(({ seat: changed }) => changed === code)?.reason ?? '';
  const codes = new Set(seating.seats.map(({ seat: code }) => code));
  return [
    panelSentence(seating),
    ...table(
      seating.seats.map(({ seat: code, role, offer }) => [
        code,
        role,
        offer.name,
        placeOf(offer),
        reasonOf(code),
      ]),
    ),
    ...seating.substitutions
      .filter(({ seat: code }) => !codes.has(code))
      .map(({ seat: code, reason }) => `${code}: ${reason}`),
    ...seating.independence,
  ];
}

function offerRow(
  { modelOf, priceOf, staleModels }: Catalogue,
  offer: Offer,
  now: string,
): string[] {
  const { model, name, family, tier, price, simulated } = offer;
  const entry = simulated ? modelOf(model) : null;
  const needs = entry === null ? '' : needsOf(entry);
  const row = isFree(offer) || !staleModels(now).includes(model) ? null : priceOf(model, now);
  const priced = `${priceText(price)}${row === null ? '' : `, read on ${row.readOn}`}`;
  return [model, name, family, tier, placeOf(offer), priced, needs];
}

function placeOf({ provider, remoteId, simulated, model }: Offer): string {
  if (simulated) return 'simulated';
  return remoteId === model ? provider : `${provider} as ${remoteId}`;
}

function priceText(price: Offer['price']): string {
  return price === null ? 'price unknown' : `$${price.inputPerMTok} / $${price.outputPerMTok}`;
}

/** The models of the catalogue that nothing offers, with the variable that would. */
function missingRows(catalogue: Catalogue, offers: readonly Offer[]): string[][] {
  const offered = new Set(offers.map(({ model }) => model));
  return catalogue.models
    .filter(({ id }) => !offered.has(id))
    .map((entry) => [
      entry.id,
      entry.displayName,
      entry.family,
      entry.tier,
      'not available',
      '',
      needsOf(entry),
    ]);
}

function needsOf({ provider, remoteIds }: ModelEntry): string {
  const variables = providerDefinitions
    .filter(({ name }) => name === provider || name in remoteIds)
    .map(({ keyVariable }) => keyVariable);
  return `needs ${variables.length === 0 ? 'an endpoint' : variables.join(' or ')}`;
}

// ── check ───────────────────────────────────────────────────────────────────────────────────────

const check: SettingsCommand = {
  noun: 'models',
  verb: 'check',
  arguments: '',
  summary:
    'Checks keys, ids, prices, and retirements, and asks each seated model one small question.',
  options: {},
  async runOnSettings(call) {
    const { connected, providers, faults } = await checkConnected(call.env);
    printResult(call, { providers, faults }, [
      ...table(providers.map(providerRow)),
      ...faults.map(lineOf),
    ]);
    if (connected.length === 0) say('No provider is connected, so there is no key to check');
    return faults.length === 0 ? 0 : 1;
  },
};

/** The providers that have a key or an address, without the sandbox. */
export function connectionsOf(env: Env) {
  const settings = { ...env, sandboxUrl: null };
  const catalogue = loadCatalogue(env.modelsFile);
  const registry = modelRegistry(settings, catalogue);
  return { catalogue, registry, connected: connectedProviders(settings, registry) };
}

/** Asks each of them. */
export async function checkConnected(env: Env) {
  const { catalogue, registry, connected } = connectionsOf(env);
  const offers = await registry.offers();
  const seated = await panels(env, catalogue, registry);
  const found = await checkModels({
    catalogue,
    connected,
    offers,
    seated: new Set(seated.flatMap((panel) => everyModel(panel).map(({ offer }) => offer.model))),
    wanted: new Set(catalogue.strategies.flatMap(modelsOf)),
    now: Date.now(),
  });
  return { connected, ...found };
}

function providerRow({ name, listed, answered }: CheckedProvider): string[] {
  return [
    name,
    listed === null ? 'not checked' : `${listed} models listed`,
    `${answered} answered`,
  ];
}

export function lineOf({ about, problem, remedy }: Fault): string {
  return `${about}: ${problem}; ${remedy}`;
}

// ── sync ────────────────────────────────────────────────────────────────────────────────────────

const sync: SettingsCommand = {
  noun: 'models',
  verb: 'sync',
  arguments: '',
  summary:
    "Compares the catalog with OpenRouter's public list: prices, retirements, and new models.",
  options: {
    write: { type: 'boolean', help: 'Merge the differences into MODELS_FILE' },
    since: {
      type: 'string',
      help: 'Counts models listed since this day as new (default: 90 days ago)',
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
    const isThere = modelsFile !== null && existsSync(modelsFile);
    const catalogue = loadCatalogue(isThere ? modelsFile : null);
    const listed = await readOpenRouterList(providerUrls['openrouter'] ?? openrouter.ownUrl);
    const found = differences(catalogue, listed, { now, since });
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
  const day = dayOf(given);
  if (day === null) throw new UsageError('--since must be a day such as 2026-09-01');
  return Date.parse(day);
}

const newDays = 90;

export const modelCommands: readonly SettingsCommand[] = [list, check, sync];
