import { createHash } from 'node:crypto';
import type { Catalogue } from '#services/models/catalogue.ts';
import { everyModel } from '#services/models/estimate.ts';
import { providerClassOf } from '#services/models/offer.ts';
import type { Offer } from '#services/models/offer.ts';
import { displayNameOf } from '#services/models/provider-list.ts';
import type { ModelRegistry } from '#services/models/registry.ts';
import { seat } from '#services/models/seating.ts';
import type { Seating } from '#services/models/seating.ts';
import type { Written } from '#services/models/seating/tokens.ts';
import type { Placed } from '#services/models/seating/wanted.ts';
import { cardSentence, independenceSentence } from '#services/models/seating/words.ts';
import type { Strategy } from '#services/models/strategies.ts';
import { waitingFor } from '#services/models/waiting.ts';
import type { Deadlines, Lanes } from '#services/models/waiting.ts';
import type { PanelFacts } from '#services/optimizations/contract/panel.ts';
import type { ReadDurations } from './durations.ts';
import type { ReadLanes } from './lanes.ts';
import { callsByStage } from './run/lanes.ts';

/** Who sits in a run of a strategy, and how long it takes: for its card, its estimate and its start. */

export type PanelDependencies = {
  catalogue: Catalogue;
  registry: Pick<ModelRegistry, 'offers' | 'hasRealModels'>;
  readLanes: ReadLanes;
  readDurations: ReadDurations;
  isLocal: boolean;
  /** Whether a model may stand in for a wanted one. */
  substituteModels: boolean;
  /** USD for a credit in the cheapest package. */
  creditUsd: number;
};

type Asked = Written & {
  strategy: Strategy;
  allowSimulated: boolean;
};

export type Panel = Seating & {
  strategy: Strategy;
  deadlines: Deadlines;
  /** What a run usually takes: measured, else by design. */
  typicalSeconds: number;
  /** Seconds, once enough runs of its kind were completed here. */
  duration: PanelFacts['duration'];
  /** Of the providers that answer few calls at a time. */
  lanes: Lanes;
};

/** One list of offers serves all strategies of a call. */
export async function panelsOf({
  catalogue,
  registry,
  readLanes,
  readDurations,
  isLocal,
  substituteModels,
  creditUsd,
}: PanelDependencies): Promise<(asked: Asked) => Panel> {
  const offers = await registry.offers();
  const lanes = await readLanes([...new Set(offers.map(({ provider }) => provider))]);
  const durations = await readDurations();
  return ({ strategy, challengeCharacters, filesCharacters, allowSimulated }) => {
    const offered = offersFor({ registry, isLocal }, offers, allowSimulated);
    const seating = seat(strategy, offered, catalogue.modelOf, {
      substitute: substituteModels,
      challengeCharacters,
      filesCharacters,
      packagePrice: creditUsd,
      lifted: isLocal ? { seats: true, price: true } : strategy.lifted,
    });
    const waiting = withWaiting(strategy, seating, lanes);
    const duration = durationOf(waiting, durations);
    return { ...waiting, duration, typicalSeconds: duration?.p50 ?? waiting.typicalSeconds };
  };
}

/**
 * Once a real model is connected, real models alone are used, unless the user allows simulated ones
 * beside them.
 */
export function offersFor(
  {
    registry,
    isLocal,
  }: Pick<PanelDependencies, 'isLocal'> & {
    registry: Pick<ModelRegistry, 'hasRealModels'>;
  },
  offers: readonly Offer[],
  allowSimulated: boolean,
): readonly Offer[] {
  return isLocal && (allowSimulated || !registry.hasRealModels)
    ? offers
    : offers.filter(({ simulated }) => !simulated);
}

/** Of the runs with the same version of the strategy and the same kind of providers. */
function durationOf(
  panel: Omit<Panel, 'duration'>,
  durations: Awaited<ReturnType<ReadDurations>>,
): Panel['duration'] {
  const { id, version } = panel.strategy;
  const offers = everyModel(panel).map(({ offer }) => offer);
  const providerClass = providerClassOf(offers);
  const simulated = panel.seats.some(({ offer }) => offer.simulated);
  const found = durations.find(
    (one) =>
      one.strategy === id &&
      one.version === version &&
      one.providerClass === providerClass &&
      one.simulated === simulated,
  );
  if (found === undefined) return null;
  return { p50: Math.round(found.p50), p90: Math.round(found.p90), runs: found.runs };
}

function withWaiting(strategy: Strategy, seating: Seating, lanes: Lanes): Omit<Panel, 'duration'> {
  const called = new Set(everyModel(seating).map(({ offer }) => offer.provider));
  const own = Object.fromEntries(Object.entries(lanes).filter(([name]) => called.has(name)));
  const waiting = waitingFor(strategy.deadlines, callsByStage(calledModels(seating)), own);
  const { deadlines, typicalSeconds } = strategy;
  const panel = { ...seating, strategy, deadlines, typicalSeconds, lanes: own };
  if ('unavailable' in waiting)
    return {
      ...panel,
      unavailable: seating.unavailable ?? { reason: waiting.unavailable, missing: [] },
    };
  return {
    ...panel,
    deadlines: waiting.deadlines,
    typicalSeconds: waiting.typicalSeconds ?? typicalSeconds,
  };
}

function calledModels({ seats, extractors, synthesizers, verifiers }: Seating) {
  const called = ({ offer: { provider } }: Placed) => ({ provider });
  return {
    seats: seats.map(called),
    extractors: extractors.map(called),
    synthesizers: synthesizers.map(called),
    verifiers: verifiers.map((pair) => pair.map(called)),
  };
}

/** Of the catalogue and of who sits: what a person agrees to with an estimate. */
export function versionOf({ version }: Catalogue, panel: Panel): string {
  const places = everyModel(panel).map(({ offer }) => [
    offer.model,
    offer.provider,
    offer.simulated,
  ]);
  const digest = createHash('sha256').update(JSON.stringify([places, panel.reviewsPerSeat]));
  return `${version}.${digest.digest('hex').slice(0, 8)}`;
}

/** What people see of a panel before they pay for it. */
export function describePanel(panel: Panel, catalogue: Catalogue): PanelFacts {
  const nameOf = (model: string) => catalogue.modelOf(model)?.displayName ?? model;
  const { unavailable, substitutions, makers, copies, verdict } = panel;
  const isEmpty = panel.seats.length === 0;
  const seats = isEmpty
    ? panel.strategy.panel.map(({ seat: code, role, model }) => ({
        seat: code,
        role,
        model,
        name: nameOf(model),
        simulated: false,
      }))
    : panel.seats.map(({ seat: code, role, offer }) => ({
        seat: code,
        role,
        model: offer.model,
        name: offer.name,
        simulated: offer.simulated,
      }));
  return {
    seats,
    typical_seconds: panel.typicalSeconds,
    at_most_seconds: Math.ceil(panel.deadlines.runMs / 1000),
    duration: panel.duration,
    available: unavailable === null,
    unavailable: unavailable?.reason ?? null,
    missing: (unavailable?.missing ?? []).map(nameOf),
    simulated: seats.some(({ simulated }) => simulated),
    providers: providersOf(panel),
    makers,
    copies: copies.length,
    substitutions: [...substitutions],
    summary: isEmpty ? null : cardSentence(panel),
    independence: independenceOf(panel),
    verdict,
  };
}

/** A panel in one line, for operators. */
export function panelSentence(panel: Panel): string {
  if (panel.unavailable !== null) return `Not available. ${panel.unavailable.reason}`;
  if (panel.seats.some(({ offer }) => offer.simulated)) return 'Simulated';
  return [cardSentence(panel), ...independenceOf(panel).slice(0, 1)].join('. ');
}

/** Every strategy with a question of the usual length. */
export async function usualPanels(dependencies: PanelDependencies): Promise<Panel[]> {
  const panelOf = await panelsOf(dependencies);
  return dependencies.catalogue.strategies.map((strategy) =>
    panelOf({ strategy, challengeCharacters: 2000, filesCharacters: 0, allowSimulated: false }),
  );
}

/** The sentence about copies first, then each rule of the design that the panel breaks. */
export function independenceOf(panel: Panel): string[] {
  const copies = panel.seats.length === 0 ? null : independenceSentence(panel);
  return [...(copies === null ? [] : [copies]), ...panel.independence];
}

/** Each provider once; a real provider is not also listed as simulated. */
function providersOf(seating: Seating): PanelFacts['providers'] {
  const simulatedOf = new Map<string, boolean>();
  for (const { offer } of everyModel(seating))
    simulatedOf.set(offer.provider, offer.simulated && (simulatedOf.get(offer.provider) ?? true));
  return [...simulatedOf].map(([name, simulated]) => ({ name: displayNameOf(name), simulated }));
}
