import { createHmac, randomBytes } from 'node:crypto';
import type { Catalogue } from '#services/models/catalogue.ts';
import { rowsBetween } from '#services/models/catalogue/prices.ts';
import type { PriceRow } from '#services/models/catalogue/prices.ts';
import { estimateMicros } from '#services/models/estimate.ts';
import type { ModelRegistry } from '#services/models/registry.ts';
import { displayNameOf } from '#services/models/provider-list.ts';
import { modelsOf } from '#services/models/strategies.ts';
import type { ModelUse, Strategy } from '#services/models/strategies.ts';
import { Problem } from '#services/platform/problem.ts';
import type { Sealer } from '#services/platform/seal.ts';
import type {
  CreateOptimizationRequest,
  Estimate,
  EstimateRequest,
  Strategy as StrategyReply,
} from './contract.ts';
import type { CouncilModel, Schedule, Seat } from './run/events.ts';
import type { OptimizationCommand } from './run/optimization.ts';
import { streamOf } from './run/events.ts';

/**
 * From a request and the catalogue to the command that begins a run: seats, schedule, price and seed.
 */
export type Seating = {
  catalogue: Catalogue;
  registry: ModelRegistry;
  /** The sandbox's seed; the same question then gets the same run. */
  sandboxSeed: string;
};

/**
 * The panel of a run: with no key at all every seat is simulated; with some keys only real models
 * are seated, unless the user allowed simulated ones.
 */
function isSeated(registry: ModelRegistry, model: string, allowSimulated: boolean): boolean {
  const status = registry.statusOf(model);
  if (!status.available) return false;
  return !status.simulated || allowSimulated || !registry.hasRealModels;
}

export function describeStrategy(
  { catalogue, registry }: Pick<Seating, 'catalogue' | 'registry'>,
  strategy: Strategy,
): StrategyReply {
  const names = (role: string) =>
    strategy.panel.filter((seat) => seat.role === role).map((seat) => seat.model);
  const missing = modelsOf(strategy).filter((model) => !isSeated(registry, model, false));
  const simulated = (model: string) => registry.statusOf(model).simulated;
  return {
    id: strategy.id,
    name: strategy.name,
    description: strategy.description,
    costTier: strategy.costTier,
    models: {
      strategic: names('strategic'),
      risk: names('risk'),
      implementation: names('implementation'),
    },
    biasDetection: strategy.biasDetection,
    parallelExecution: strategy.parallelExecution,
    recommended: strategy.recommended,
    credits: strategy.credits,
    seats: strategy.panel.map(({ seat, model }) => ({
      seat,
      model,
      name: nameOf(catalogue, model),
      simulated: simulated(model),
    })),
    typical_seconds: strategy.typicalSeconds,
    available: missing.length === 0,
    missing,
    providers: providersOf(registry, strategy),
    simulated: strategy.panel.some(({ model }) => simulated(model)),
    not_in_this_version: [...strategy.notInThisVersion],
  };
}

/** Each provider once; a real provider is not also listed as simulated. */
function providersOf(registry: ModelRegistry, strategy: Strategy): StrategyReply['providers'] {
  const simulatedOf = new Map<string, boolean>();
  for (const model of modelsOf(strategy)) {
    const { provider, simulated } = registry.statusOf(model);
    if (provider === null) continue;
    simulatedOf.set(provider, simulated && (simulatedOf.get(provider) ?? true));
  }
  return [...simulatedOf].map(([name, simulated]) => ({ name: displayNameOf(name), simulated }));
}

export function estimate(
  { catalogue, registry }: Pick<Seating, 'catalogue' | 'registry'>,
  request: EstimateRequest,
  nowIso: string,
): Estimate {
  const strategy = knownStrategy(catalogue, request.strategy);
  const micros = estimateMicros(catalogue, strategy, request.challengeText.length, nowIso);
  return {
    strategy: request.strategy,
    cost: micros === null ? null : micros / 1_000_000,
    credits: strategy.credits,
    typical_seconds: strategy.typicalSeconds,
    simulated: strategy.panel.some(({ model }) => registry.statusOf(model).simulated),
    catalogue_version: catalogue.version,
  };
}

/**
 * @throws Problem 409 `price-changed` when the catalogue is no longer that of the estimate
 * @throws Problem 503 `models-unavailable` when a model of the strategy cannot be seated
 */
export async function createCommand(
  seating: Seating,
  sealer: Sealer,
  run: { runId: string; userId: string; now: number },
  request: CreateOptimizationRequest,
): Promise<OptimizationCommand> {
  const { catalogue, registry, sandboxSeed } = seating;
  const strategy = knownStrategy(catalogue, request.strategy);
  const agreed = request.catalogue_version;
  if (agreed !== undefined && agreed !== catalogue.version)
    throw new Problem(
      'price-changed',
      `Prices have changed since the estimate: this strategy now costs ${strategy.credits} credits.`,
      { members: { price: strategy.credits, catalogue_version: catalogue.version } },
    );
  const allowed = request.allow_simulated ?? false;
  const missing = modelsOf(strategy).filter((model) => !isSeated(registry, model, allowed));
  if (missing.length > 0)
    throw new Problem(
      'models-unavailable',
      `This strategy is not available: no key serves ${missing.join(', ')}.`,
    );
  const seats: Seat[] = strategy.panel.map((seat) => ({
    seat: seat.seat,
    role: seat.role,
    family: familyOf(registry, seat.model),
    ...councilModel(seating, seat),
  }));
  const createdAt = new Date(run.now).toISOString();
  await sealer.createDataKey('run', run.runId, run.userId);
  const seal = (field: string, text: string) =>
    sealer.seal(run.runId, { stream: streamOf(run.runId), field }, text);
  return {
    type: 'Create',
    data: {
      userId: run.userId,
      challengeType: request.challenge_type,
      strategy: strategy.id,
      price: strategy.credits,
      priceUntil: new Date(run.now + priceHoldsMs).toISOString(),
      catalogueVersion: catalogue.version,
      seats,
      schedule: scheduleOf(seating, strategy, run.now),
      seed: seats.every((seat) => seat.simulated)
        ? sandboxRunSeed(sandboxSeed, request)
        : randomBytes(16).toString('hex'),
      ...(request.retry_of === undefined ? {} : { retryOf: request.retry_of }),
      createdAt,
      sealed: {
        title: await seal('title', titleOf(request.challenge)),
        challenge: await seal('challenge', request.challenge),
        context: await seal('context', request.context),
        objectives: await seal('objectives', JSON.stringify(request.objectives)),
        constraints: await seal('constraints', JSON.stringify(request.constraints)),
      },
    },
  };
}

/** The first sentence, at most 80 characters. */
function titleOf(challenge: string): string {
  const line = challenge.replace(/\s+/g, ' ').trim();
  const sentence = /^.*?[.!?](?=\s|$)/.exec(line)?.[0] ?? line;
  if (sentence.length <= titleCharacters) return sentence;
  const cut = sentence.slice(0, titleCharacters - 1);
  return `${cut.slice(0, Math.max(cut.lastIndexOf(' '), 40)).trimEnd()}…`;
}

const titleCharacters = 80;
const priceHoldsMs = 86_400_000;

export function knownStrategy({ strategyOf }: Catalogue, id: string): Strategy {
  const found = strategyOf(id);
  if (!found) throw new Problem('validation', 'Choose one of the listed strategies');
  return found;
}

function scheduleOf(seating: Seating, strategy: Strategy, now: number): Schedule {
  const { catalogue } = seating;
  const use = (model: ModelUse) => councilModel(seating, model);
  const { deadlines } = strategy;
  const at = new Date(now).toISOString();
  return {
    reviewsPerSeat: strategy.reviewsPerSeat,
    extractors: strategy.extractors.map(use),
    synthesizers: strategy.synthesizers.map(use),
    verifiers: strategy.verifiers.map((pair) => pair.map(use)),
    minFamilies: strategy.minFamilies,
    typicalSeconds: strategy.typicalSeconds,
    strongest: strongestSeat(catalogue, strategy, at),
    pricesStale: stalePrices(catalogue, strategy, at),
    prices: pricesOf(catalogue, strategy, now),
    maxOutputTokens: strategy.maxOutputTokens,
    deadlinesMs: {
      opinionsSoft: deadlines.opinions.softMs,
      opinionsHard: deadlines.opinions.hardMs,
      claims: deadlines.claimsMs,
      reviewsSoft: deadlines.reviews.softMs,
      reviewsHard: deadlines.reviews.hardMs,
      synthesis: deadlines.synthesisMs,
      run: deadlines.runMs,
    },
  };
}

/** All rows that a call of the run can start under: it may start for a day, and then has its deadline. */
function pricesOf(
  catalogue: Catalogue,
  strategy: Strategy,
  now: number,
): Record<string, readonly PriceRow[]> {
  const from = new Date(now).toISOString();
  const to = new Date(now + priceHoldsMs + strategy.deadlines.runMs).toISOString();
  return Object.fromEntries(
    modelsOf(strategy).map((model) => [
      model,
      rowsBetween(catalogue.modelOf(model)?.prices ?? [], from, to),
    ]),
  );
}

function strongestSeat({ priceOf }: Catalogue, { panel }: Strategy, at: string): string {
  const price = (model: string) => priceOf(model, at)?.outputPerMTok ?? 0;
  return panel.reduce((best, seat) => (price(seat.model) > price(best.model) ? seat : best)).seat;
}

function stalePrices({ staleModels }: Catalogue, strategy: Strategy, at: string): boolean {
  const stale = new Set(staleModels(at));
  return modelsOf(strategy).some((model) => stale.has(model));
}

function councilModel({ catalogue, registry }: Seating, use: ModelUse): CouncilModel {
  const status = registry.statusOf(use.model);
  const remoteId = status.available ? status.remoteId : use.model;
  const entry = catalogue.modelOf(use.model);
  return {
    model: use.model,
    name: nameOf(catalogue, use.model),
    provider: status.provider ?? 'unknown',
    effort: use.effort,
    simulated: status.simulated,
    ...(remoteId === use.model ? {} : { remoteId }),
    efforts: entry?.efforts ?? [],
    ...(entry === null || entry.structuredOutput === 'schema'
      ? {}
      : { structuredOutput: entry.structuredOutput }),
  };
}

function nameOf({ modelOf }: Catalogue, model: string): string {
  return modelOf(model)?.displayName ?? model;
}

function familyOf(registry: ModelRegistry, model: string): string {
  const status = registry.statusOf(model);
  return status.available ? status.family : 'unknown';
}

/** Simulated runs are reproducible: the same question and strategy draw the same seed. */
function sandboxRunSeed(sandboxSeed: string, request: CreateOptimizationRequest): string {
  return createHmac('sha256', sandboxSeed)
    .update(JSON.stringify([request.challenge, request.strategy]))
    .digest('hex')
    .slice(0, 32);
}
