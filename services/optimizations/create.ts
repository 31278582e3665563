import { randomBytes } from 'node:crypto';
import type { Catalogue } from '#services/models/catalogue.ts';
import { rowsBetween } from '#services/models/catalogue/prices.ts';
import type { PriceRow } from '#services/models/catalogue/prices.ts';
import { everyModel } from '#services/models/estimate.ts';
import { tiers } from '#services/models/offer.ts';
import type { Seating } from '#services/models/seating.ts';
import { localContexts } from '#services/models/seating/local-context.ts';
import type { Placed } from '#services/models/seating/wanted.ts';
import type { Strategy } from '#services/models/strategies.ts';
import { Problem } from '#services/platform/problem.ts';
import type { Sealer } from '#services/platform/seal.ts';
import { simulatedRunSeed } from '#services/platform/seeded.ts';
import { nearestCase } from '#services/sandbox/models/cases.ts';
import type {
  CreateOptimizationRequest,
  Estimate,
  EstimateRequest,
  Strategy as StrategyReply,
} from './contract.ts';
import { describePanel, panelsOf } from './panel.ts';
import type { PanelDependencies } from './panel.ts';
import type { CouncilModel, Schedule, Seat } from './run/events.ts';
import type { OptimizationCommand } from './run/optimization.ts';
import { streamOf } from './run/events.ts';

/**
 * From a request and the catalogue to the command that begins a run: seats, schedule, price and seed.
 */
export type CreateDependencies = PanelDependencies & {
  /** The sandbox's seed; the same question then gets the same run. */
  sandboxSeed: string;
};

export async function describeStrategies(
  dependencies: PanelDependencies,
  allowSimulated: boolean,
): Promise<StrategyReply[]> {
  const { catalogue } = dependencies;
  const panelOf = await panelsOf(dependencies);
  return catalogue.strategies.map((strategy) => {
    const seating = panelOf({ strategy, challengeCharacters: 0, allowSimulated });
    const panel = describePanel(seating, strategy, catalogue);
    const names = (role: string) =>
      panel.seats.filter((one) => one.role === role).map((one) => one.name);
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
      typical_seconds: strategy.typicalSeconds,
      ...panel,
      not_in_this_version: [...strategy.notInThisVersion],
    };
  });
}

export async function estimate(
  dependencies: PanelDependencies,
  request: EstimateRequest,
): Promise<Estimate> {
  const { catalogue } = dependencies;
  const strategy = knownStrategy(catalogue, request.strategy);
  const panelOf = await panelsOf(dependencies);
  const seating = panelOf({
    strategy,
    challengeCharacters: request.challengeText.length,
    allowSimulated: request.allow_simulated ?? false,
  });
  return {
    strategy: request.strategy,
    cost: seating.estimate === null ? null : seating.estimate / 1_000_000,
    credits: strategy.credits,
    typical_seconds: strategy.typicalSeconds,
    ...describePanel(seating, strategy, catalogue),
    catalogue_version: catalogue.version,
  };
}

/**
 * @throws Problem 409 `price-changed` when the catalogue is no longer that of the estimate
 * @throws Problem 503 `models-unavailable` when the strategy cannot be seated
 */
export async function createCommand(
  dependencies: CreateDependencies,
  sealer: Sealer,
  run: { runId: string; userId: string; now: number },
  request: CreateOptimizationRequest,
): Promise<OptimizationCommand> {
  const { catalogue, sandboxSeed } = dependencies;
  const strategy = knownStrategy(catalogue, request.strategy);
  const agreed = request.catalogue_version;
  if (agreed !== undefined && agreed !== catalogue.version)
    throw new Problem(
      'price-changed',
      `Prices have changed since the estimate: this strategy now costs ${strategy.credits} credits.`,
      { members: { price: strategy.credits, catalogue_version: catalogue.version } },
    );
  const { challenge, context, objectives, constraints } = request;
  const challengeCharacters = [challenge, context, ...objectives, ...constraints].join('').length;
  const panelOf = await panelsOf(dependencies);
  const seating = panelOf({
    strategy,
    challengeCharacters,
    allowSimulated: request.allow_simulated ?? false,
  });
  if (seating.unavailable !== null)
    throw new Problem(
      'models-unavailable',
      `This strategy is not available. ${seating.unavailable.reason}`,
    );
  const seats: Seat[] = seating.seats.map((one) => ({
    seat: one.seat,
    role: one.role,
    family: one.offer.family,
    ...councilModel(one),
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
      schedule: scheduleOf(catalogue, { strategy, seating, challengeCharacters }, run.now),
      seating: {
        substitutions: seating.substitutions,
        independence: describePanel(seating, strategy, catalogue).independence,
        verdict: seating.verdict,
      },
      seed: seats.every((one) => one.simulated)
        ? simulatedRunSeed(sandboxSeed, challenge, strategy.id)
        : randomBytes(16).toString('hex'),
      ...(request.retry_of === undefined ? {} : { retryOf: request.retry_of }),
      ...(seats.some((seat) => seat.simulated) ? { preparedCase: caseFor(request) } : {}),
      createdAt,
      sealed: {
        title: await seal('title', titleOf(challenge)),
        challenge: await seal('challenge', challenge),
        context: await seal('context', context),
        objectives: await seal('objectives', JSON.stringify(objectives)),
        constraints: await seal('constraints', JSON.stringify(constraints)),
      },
    },
  };
}

function caseFor({ challenge_type: type, challenge, context }: CreateOptimizationRequest): string {
  return nearestCase({ type, challenge, context }).case.case;
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

function scheduleOf(
  catalogue: Catalogue,
  {
    strategy,
    seating,
    challengeCharacters,
  }: { strategy: Strategy; seating: Seating; challengeCharacters: number },
  now: number,
): Schedule {
  const { deadlines } = strategy;
  const at = new Date(now).toISOString();
  return {
    reviewsPerSeat: seating.reviewsPerSeat,
    extractors: seating.extractors.map(councilModel),
    synthesizers: seating.synthesizers.map(councilModel),
    verifiers: seating.verifiers.map((pair) => pair.map(councilModel)),
    minFamilies: seating.minFamilies,
    typicalSeconds: strategy.typicalSeconds,
    strongest: strongestSeat(seating),
    pricesStale: isStale(catalogue, seating, at),
    prices: pricesOf(catalogue, strategy, seating, now),
    maxOutputTokens: strategy.maxOutputTokens,
    numCtx: localContexts(seating, challengeCharacters),
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
  seating: Seating,
  now: number,
): Record<string, readonly PriceRow[]> {
  const from = new Date(now).toISOString();
  const to = new Date(now + priceHoldsMs + strategy.deadlines.runMs).toISOString();
  return Object.fromEntries(
    [...new Set(everyModel(seating).map(({ offer }) => offer.model))].map((model) => [
      model,
      rowsBetween(catalogue.modelOf(model)?.prices ?? [], from, to),
    ]),
  );
}

/** By class, then by price: a local model costs nothing, whatever it can do. */
function strongestSeat({ seats }: Seating): string {
  const strength = ({ offer }: Placed) =>
    tiers.indexOf(offer.tier) * 1e6 + (offer.price?.outputPerMTok ?? 0);
  return seats.reduce((best, one) => (strength(one) > strength(best) ? one : best)).seat;
}

/** A price that the run's costs need was read long ago, or is missing. */
function isStale({ staleModels }: Catalogue, seating: Seating, at: string): boolean {
  const stale = new Set(staleModels(at));
  return everyModel(seating).some(
    ({ offer }) => offer.provider !== 'ollama' && (stale.has(offer.model) || offer.price === null),
  );
}

function councilModel({ offer, effort }: Placed): CouncilModel {
  const { model, name, provider, remoteId, structuredOutput, efforts, simulated } = offer;
  return { model, name, provider, remoteId, structuredOutput, effort, efforts, simulated };
}
