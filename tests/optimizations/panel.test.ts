import { expect, test } from 'vitest';
import type { RunDurations } from '#projections/optimization-list.ts';
import type { Offer } from '#services/models/offer.ts';
import { promptCharacters } from '#services/models/seating/characters.ts';
import { describePanel, panelsOf, versionOf } from '#services/optimizations/panel.ts';
import { catalogue, offersOf } from '#tests/models/seating/offers.ts';

const strategy = catalogue.strategyOf('fast')!;
const everything = offersOf({ vendors: [], openrouter: true, ollama: 0, endpoint: false });
const isReal = ({ model }: Offer) => model.startsWith('gpt');
const mixed = everything.map((offer) => ({ ...offer, simulated: !isReal(offer) }));

async function panel(
  offers: readonly Offer[],
  { allowSimulated = false, isLocal = true, hasRealModels = true } = {},
  durations: readonly RunDurations[] = [],
) {
  const panelOf = await panelsOf({
    catalogue,
    registry: { offers: async () => offers, hasRealModels },
    readLanes: async () => ({}),
    readDurations: async () => durations,
    isLocal,
    substituteModels: true,
    creditUsd: 0.375,
  });
  return describePanel(
    panelOf({ strategy, challengeCharacters: 0, filesCharacters: 0, allowSimulated }),
    catalogue,
  );
}

test('once a real model is connected, simulated ones are seated only when the user allows it', async () => {
  const real = await panel(mixed);
  expect(real.simulated).toBe(false);
  expect(real.substitutions.length).toBeGreaterThan(0);
  const allowed = await panel(mixed, { allowSimulated: true });
  expect(allowed).toMatchObject({
    simulated: true,
    substitutions: [],
    summary: 'All 7 seats as designed',
  });
  expect((await panel(mixed, { allowSimulated: true, isLocal: false })).simulated).toBe(false);
});

test.each([
  ['of its own kind', {}, { p50: 118, p90: 231, runs: 24 }],
  ['of another version', { version: strategy.version - 1 }, null],
  ['of vendors, while a router answers,', { providerClass: 'vendor' as const }, null],
  ['of simulated models', { simulated: true }, null],
])('a panel has the measured duration %s or none: %j, %j', async (_of, change, duration) => {
  const measured = {
    strategy: strategy.id,
    version: strategy.version,
    providerClass: 'router' as const,
    simulated: false,
    p50: 118.4,
    p90: 230.6,
    runs: 24,
    ...change,
  };
  expect(await panel(everything, {}, [measured])).toMatchObject({
    duration,
    typical_seconds: duration?.p50 ?? strategy.typicalSeconds,
    at_most_seconds: strategy.deadlines.runMs / 1000,
  });
});

test('the simulator does not stand in for a connected provider that does not answer', async () => {
  const simulated = mixed.filter((offer) => offer.simulated);
  expect(await panel(simulated)).toMatchObject({
    available: false,
    unavailable: 'No model is available.',
    summary: null,
  });
  expect(await panel(simulated, { hasRealModels: false })).toMatchObject({ available: true });
});

test('an unavailable strategy shows its designed panel and what is missing', async () => {
  const { seats, missing } = await panel([], { isLocal: false });
  expect(seats.map(({ model }) => model)).toEqual(strategy.panel.map(({ model }) => model));
  expect(missing).toContain('GPT-6.1 Terra');
});

test('the version of an estimate changes with a seat, and with nothing else that is offered', async () => {
  const versionWith = async (offers: readonly Offer[]) => {
    const panelOf = await panelsOf({
      catalogue,
      registry: { offers: async () => offers, hasRealModels: true },
      readLanes: async () => ({}),
      readDurations: async () => [],
      isLocal: true,
      substituteModels: true,
      creditUsd: 0.375,
    });
    return versionOf(
      catalogue,
      panelOf({ strategy, challengeCharacters: 0, filesCharacters: 0, allowSimulated: false }),
    );
  };
  const wanted = new Set(strategy.panel.map(({ model }) => model));
  const [first = ''] = wanted;
  const [unused = ''] = everything
    .map(({ model }) => model)
    .filter((model) => model.startsWith('kimi'));
  const version = await versionWith(everything);
  expect(version.length).toBeLessThanOrEqual(40);
  expect(await versionWith(everything.filter(({ model }) => model !== unused))).toBe(version);
  expect(await versionWith(everything.filter(({ model }) => model !== first))).not.toBe(version);
});

// cspell:ignore Ждать
test('dense writing counts four times, because its characters are about a token each', () => {
  // cspell:ignore Ждать
  expect(promptCharacters('Should I wait?', ' Ждать? 12 €')).toBe(26);
  expect(promptCharacters('値上げ')).toBe(12);
});
