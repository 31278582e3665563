import { randomBytes } from 'node:crypto';
import type { Catalogue } from '#services/models/catalogue.ts';
import { rowsBetween } from '#services/models/catalogue/prices.ts';
import type { PriceRow } from '#services/models/catalogue/prices.ts';
import { everyModel } from '#services/models/estimate.ts';
import { providerClassOf, tiers } from '#services/models/offer.ts';
import { localContexts } from '#services/models/seating/local-context.ts';
import type { Written } from '#services/models/seating/tokens.ts';
import type { Placed } from '#services/models/seating/wanted.ts';
import type { Strategy } from '#services/models/strategies.ts';
import { longestRunMs } from '#services/models/strategies.ts';
import { Problem } from '#services/platform/problem.ts';
import type { Sealer } from '#services/platform/seal.ts';
import { simulatedRunSeed } from '#services/platform/seeded.ts';
import { nearestCase } from '#services/sandbox/models/cases.ts';
import type { CreateOptimizationRequest } from '#services/optimizations/contract/requests.ts';
import type {
  Estimate,
  EstimateRequest,
  Strategy as StrategyReply,
} from '#services/optimizations/contract/panel.ts';
import { promptCharacters } from '#services/models/seating/characters.ts';
import { describePanel, independenceOf, panelsOf, versionOf } from './panel.ts';
import type { Panel, PanelDependencies } from './panel.ts';
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
    const panel = panelOf({ strategy, challengeCharacters: 0, filesCharacters: 0, allowSimulated });
    const facts = describePanel(panel, catalogue);
    const names = (role: string) =>
      facts.seats.filter((one) => one.role === role).map((one) => one.name);
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
      ...facts,
    };
  });
}

/** Credits of the cheapest strategy that is available for such a question; null for none. */
export async function cheapestPrice(
  dependencies: PanelDependencies,
  asked: { challengeCharacters: number; filesCharacters: number; allowSimulated: boolean },
): Promise<number | null> {
  const panelOf = await panelsOf(dependencies);
  const found = dependencies.catalogue.strategies.find(
    (strategy) => panelOf({ strategy, ...asked }).unavailable === null,
  );
  return found?.credits ?? null;
}

export async function estimate(
  dependencies: PanelDependencies,
  request: EstimateRequest,
): Promise<Estimate> {
  const { catalogue } = dependencies;
  const strategy = knownStrategy(catalogue, request.strategy);
  const panelOf = await panelsOf(dependencies);
  const panel = panelOf({
    strategy,
    challengeCharacters: promptCharacters(request.challengeText, request.contextText),
    filesCharacters: request.files_characters,
    allowSimulated: request.allow_simulated ?? false,
  });
  return {
    strategy: request.strategy,
    cost: panel.estimate === null ? null : panel.estimate / 1_000_000,
    credits: strategy.credits,
    ...describePanel(panel, catalogue),
    catalogue_version: versionOf(catalogue, panel),
  };
}

/**
 * @throws Problem 409 `price-changed` when prices or panel are no longer those of the estimate
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
  const { challenge, context, objectives, constraints, files } = request;
  const written = writtenOf(request);
  const panelOf = await panelsOf(dependencies);
  const panel = panelOf({
    strategy,
    ...written,
    allowSimulated: request.allow_simulated ?? false,
  });
  if (panel.unavailable !== null)
    throw new Problem(
      'models-unavailable',
      `This strategy is not available. ${panel.unavailable.reason}`,
    );
  const version = versionOf(catalogue, panel);
  if (request.catalogue_version !== undefined && request.catalogue_version !== version)
    throw new Problem(
      'price-changed',
      `The models or prices of this strategy have changed since the estimate. It costs ${strategy.credits} credits.`,
      { members: { price: strategy.credits, catalogue_version: version } },
    );
  const seats: Seat[] = panel.seats.map((one) => ({
    seat: one.seat,
    role: one.role,
    family: one.offer.family,
    ...councilModel(one),
    reviewEffort: one.reviewEffort,
  }));
  await sealer.createDataKey('run', run.runId, run.userId);
  const seal = (field: string, text: string) =>
    sealer.seal(run.runId, { stream: streamOf(run.runId), field }, text);
  return {
    type: 'Create',
    data: {
      userId: run.userId,
      challengeType: request.challenge_type,
      strategy: strategy.id,
      strategyVersion: strategy.version,
      providerClass: providerClassOf(everyModel(panel).map(({ offer }) => offer)),
      price: strategy.credits,
      priceUntil: new Date(run.now + priceHoldsMs).toISOString(),
      catalogueVersion: catalogue.version,
      seats,
      schedule: scheduleOf(catalogue, panel, { now: run.now, written }),
      seating: {
        substitutions: panel.substitutions,
        independence: independenceOf(panel),
      },
      seed: seats.every((one) => one.simulated)
        ? simulatedRunSeed(sandboxSeed, challenge, strategy.id)
        : randomBytes(16).toString('hex'),
      ...(request.retry_of === undefined ? {} : { retryOf: request.retry_of }),
      ...(seats.some((one) => one.simulated) ? { preparedCase: caseFor(request) } : {}),
      createdAt: new Date(run.now).toISOString(),
      sealed: {
        title: await seal('title', titleOf(challenge)),
        challenge: await seal('challenge', challenge),
        context: await seal('context', context),
        objectives: await seal('objectives', JSON.stringify(objectives)),
        constraints: await seal('constraints', JSON.stringify(constraints)),
        ...(files.length === 0 ? {} : { files: await seal('files', JSON.stringify(files)) }),
      },
    },
  };
}

/** How long a question and its files are. */
export function writtenOf({
  challenge,
  context,
  objectives,
  constraints,
  files,
}: Pick<
  CreateOptimizationRequest,
  'challenge' | 'context' | 'objectives' | 'constraints' | 'files'
>): Written {
  return {
    challengeCharacters: promptCharacters(challenge, context, ...objectives, ...constraints),
    filesCharacters: promptCharacters(...files.map(({ text }) => text)),
  };
}

function caseFor({ challenge_type: type, challenge, context }: CreateOptimizationRequest): string {
  return nearestCase({ type, challenge, context }).case.case;
}

/** The sentence that asks, else the first one, at most 80 characters. */
function titleOf(challenge: string): string {
  const line = challenge.replace(/\s+/g, ' ').trim();
  const sentences = line.match(/.+?(?:[.!?…]+(?=\s|$)|$)/g) ?? [line];
  const sentence = (sentences.find((one) => one.endsWith('?')) ?? sentences[0] ?? line).trim();
  if (sentence.length <= titleCharacters) return sentence;
  const cut = sentence.slice(0, titleCharacters - 1);
  return `${cut.slice(0, Math.max(cut.lastIndexOf(' '), 40)).trimEnd()}…`;
}

const titleCharacters = 80;
export const priceHoldsMs = 86_400_000;

export function knownStrategy({ strategyOf }: Catalogue, id: string): Strategy {
  const found = strategyOf(id);
  if (!found) throw new Problem('validation', 'Choose one of the listed strategies');
  return found;
}

function scheduleOf(
  catalogue: Catalogue,
  panel: Panel,
  { now, written }: { now: number; written: Written },
): Schedule {
  const { deadlines, lanes } = panel;
  const numCtx = localContexts(panel, written);
  return {
    reviewsPerSeat: panel.reviewsPerSeat,
    extractors: panel.extractors.map(councilModel),
    synthesizers: panel.synthesizers.map(councilModel),
    verifiers: panel.verifiers.map((pair) => pair.map(councilModel)),
    minFamilies: panel.minFamilies,
    typicalSeconds: panel.typicalSeconds,
    strongest: strongestSeat(panel),
    prices: pricesFrom(
      catalogue,
      everyModel(panel).map(({ offer }) => offer.model),
      now,
    ),
    maxOutputTokens: panel.strategy.maxOutputTokens,
    ...(Object.keys(numCtx).length === 0 ? {} : { numCtx }),
    ...(Object.keys(lanes).length === 0 ? {} : { lanes }),
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

/** All rows that a call of the run can start under: it may start for a day, and then has its time. */
export function pricesFrom(
  { modelOf }: Pick<Catalogue, 'modelOf'>,
  models: readonly string[],
  now: number,
): Record<string, readonly PriceRow[]> {
  const from = new Date(now).toISOString();
  const to = new Date(now + priceHoldsMs + longestRunMs).toISOString();
  return Object.fromEntries(
    [...new Set(models)].map((model) => [
      model,
      rowsBetween(modelOf(model)?.prices ?? [], from, to),
    ]),
  );
}

/** By class, then by price: a local model costs nothing, whatever it can do. */
function strongestSeat({ seats }: Panel): string {
  const strength = ({ offer }: Placed) =>
    tiers.indexOf(offer.tier) * 1e6 + (offer.price?.outputPerMTok ?? 0);
  return seats.reduce((best, one) => (strength(one) > strength(best) ? one : best)).seat;
}

function councilModel({ offer, effort }: Placed): CouncilModel {
  const { model, name, provider, remoteId, simulated } = offer;
  const { structuredOutput, efforts, maxOutputTokens } = offer;
  return {
    model,
    name,
    provider,
    remoteId,
    effort,
    efforts,
    simulated,
    structuredOutput,
    maxOutputTokens,
  };
}
