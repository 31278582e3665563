import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { efforts } from '#services/models/model.ts';
import type { Offer, Tier } from '#services/models/offer.ts';
import { seat } from '#services/models/seating.ts';
import type { Seating } from '#services/models/seating.ts';
import { catalogue, offer, offersOf, settings } from './offers.ts';

const tiers: readonly Tier[] = ['small', 'mid', 'strong', 'flagship'];
const everything = offersOf({ vendors: [], openrouter: true, ollama: 0, endpoint: false });

const strategy = fc.constantFrom(...catalogue.strategies);

/** Models that the catalogue does not list, of a few makers. */
const unlisted: fc.Arbitrary<Offer[]> = fc
  .array(
    fc.record({
      family: fc.constantFrom('openai', 'google', 'meta', 'qwen', 'deepseek'),
      tier: fc.constantFrom(...tiers),
      efforts: fc.subarray([...efforts]),
      structuredOutput: fc.constantFrom('schema' as const, 'json' as const, 'prompt' as const),
      price: fc.option(
        fc.record({
          inputPerMTok: fc.constantFrom(0, 0.1, 1, 4),
          outputPerMTok: fc.constantFrom(0, 0.5, 5, 20),
        }),
      ),
    }),
    { maxLength: 8 },
  )
  .map((drawn) => drawn.map((parts, index) => offer({ ...parts, model: `other-${index + 1}` })));

/** At least one model, in any order. */
const offered: fc.Arbitrary<Offer[]> = fc
  .tuple(fc.oneof(fc.subarray(everything), fc.constant([])), unlisted)
  .map((lists) => lists.flat())
  .filter((offers) => offers.length > 0)
  .chain((offers) => fc.shuffledSubarray(offers, { minLength: offers.length }));

type Strategy = (typeof catalogue.strategies)[number];
type Seat = Seating['seats'][number];

const seated = (strategyOf: Strategy, offers: readonly Offer[]) =>
  seat(strategyOf, offers, catalogue.modelOf, settings);

const wantedOf = (of: Strategy, { seat: code }: Seat) =>
  of.panel.find((wanted) => wanted.seat === code)!;
const tierOf = (model: string) => catalogue.modelOf(model)!.tier;
/** 1 is one tier above the wanted one. */
const above = (of: Strategy, one: Seat, { tier }: Offer) =>
  tiers.indexOf(tier) - tiers.indexOf(tierOf(wantedOf(of, one).model));
const holders = ({ seats }: Seating, model: string) =>
  seats.filter((one) => one.offer.model === model);

/** For every strategy and any offers. */
function always(check: (of: Strategy, offers: Offer[], seating: Seating) => void): void {
  fc.assert(fc.property(strategy, offered, (of, offers) => check(of, offers, seated(of, offers))));
}

describe('a seating', () => {
  test('a seating fills every seat of the strategy, seven at least, each with an offered model', () => {
    always((of, offers, { seats, unavailable }) => {
      expect(unavailable).toBeNull();
      expect(seats.length).toBeGreaterThanOrEqual(7);
      expect(seats.map((one) => [one.seat, one.role])).toEqual(
        of.panel.map((one) => [one.seat, one.role]),
      );
      for (const one of seats) expect(offers).toContain(one.offer);
    });
  });

  test('a seating puts every wanted model that is offered on its own seat', () => {
    always((of, offers, { seats }) => {
      const wanted = seats.filter((one) =>
        offers.some(({ model }) => model === wantedOf(of, one).model),
      );
      expect(wanted.map((one) => one.offer.model)).toEqual(
        wanted.map((one) => wantedOf(of, one).model),
      );
    });
  });

  test('a seating repeats a model only on seats for which no unused one of its tier or the next lower is left', () => {
    always((of, offers, seating) => {
      const wanted = of.extractors.map(({ model }) => model);
      const kept = wanted.find((id) => offers.some(({ model }) => model === id));
      const unused = offers.filter(
        ({ model }) => model !== kept && holders(seating, model).length === 0,
      );
      for (const one of copiesIn(seating))
        expect(unused.filter((each) => [0, -1].includes(above(of, one, each)))).toEqual([]);
    });
  });

  test('a seating spreads copies evenly over the models of a tier', () => {
    always((_of, _offers, seating) => {
      const more = copiesIn(seating).flatMap((one) =>
        seating.seats
          .filter((other) => other.offer.tier === one.offer.tier)
          .map(
            (other) =>
              holders(seating, one.offer.model).length - holders(seating, other.offer.model).length,
          ),
      );
      expect(Math.max(0, ...more)).toBeLessThanOrEqual(1);
    });
  });

  test('a seating takes a higher tier only where nothing at or below the wanted one is offered, and then the next or the cheapest', () => {
    always((of, offers, { seats }) => {
      for (const one of seats.filter((each) => above(of, each, each.offer) > 0)) {
        const distances = offers.map((each) => above(of, one, each));
        expect(Math.min(...distances)).toBeGreaterThan(0);
        const next = offers.filter((each) => above(of, one, each) === 1);
        const least = Math.min(...offers.map(cost));
        const best = next.length > 0 ? next : offers.filter((each) => cost(each) === least);
        expect(best).toContain(one.offer);
      }
    });
  });

  test('a seating does not depend on the order of offers or of seats', () => {
    fc.assert(
      fc.property(
        strategy.chain((of) =>
          fc.tuple(fc.constant(of), fc.shuffledSubarray(of.panel, { minLength: of.panel.length })),
        ),
        offered.chain((offers) =>
          fc.tuple(fc.constant(offers), fc.shuffledSubarray(offers, { minLength: offers.length })),
        ),
        ([of, panel], [offers, shuffled]) => {
          const bySeat = ({ seats, ...rest }: Seating) => ({
            seats: sorted(seats),
            ...rest,
            substitutions: sorted(rest.substitutions),
            lowered: rest.lowered.toSorted(),
            copies: rest.copies.toSorted(),
            independence: rest.independence.toSorted(),
          });
          expect(bySeat(seated({ ...of, panel }, shuffled))).toEqual(bySeat(seated(of, offers)));
        },
      ),
    );
  });

  test('a seating asks each model for an effort that it knows, and for that of its part if it can', () => {
    always((of, _offers, { seats, extractors, synthesizers, verifiers }) => {
      const { opinion, claims, review, draft, verdict } = of.efforts;
      const asked = [
        ...seats.map((one) => [one, wantedOf(of, one).effort ?? opinion] as const),
        ...seats.map((one) => [{ ...one, effort: one.reviewEffort }, review] as const),
        ...extractors.map((one) => [one, claims] as const),
        ...synthesizers.map((one) => [one, draft] as const),
        ...verifiers.flat().map((one) => [one, verdict] as const),
      ];
      for (const [{ offer: placed, effort }, wanted] of asked) {
        const able = placed.efforts.filter((known) => known === wanted);
        const fitting = able.length > 0 ? able : placed.efforts;
        expect(fitting.length > 0 ? fitting : [null]).toContain(effort);
      }
    });
  });

  test('a seating lists as substitutions exactly the places whose model is not the wanted one', () => {
    always((of, offers, seating) => {
      const placed = [...seating.extractors, ...seating.synthesizers, ...seating.verifiers.flat()];
      const wanted = [...of.extractors, ...of.synthesizers, ...of.verifiers.flat()];
      const nameOf = (model: string) => catalogue.modelOf(model)!.displayName;
      const expected = [
        ...seating.seats.map((one) => [one.seat, wantedOf(of, one).model, one.offer] as const),
        ...placed.map((one, index) => [places[index]!, wanted[index]!.model, one.offer] as const),
      ].flatMap(([place, model, own]) =>
        own.model === model ? [] : [[place, nameOf(model), own.name]],
      );
      const { substitutions } = seating;
      expect(substitutions.map((one) => [one.seat, one.wanted, one.seated])).toEqual(expected);
      for (const { wanted: name, seated: standIn, reason } of substitutions) {
        expect(reason.startsWith(`${name} `)).toBe(true);
        expect(reason).toContain(`so ${standIn} `);
        const isOffered = offers.some((each) => each.name === name);
        expect(reason.includes('is not available')).toBe(!isOffered);
      }
    });
  });

  test('a seating counts its makers, copies, lowered seats and families as they sit', () => {
    always((of, _offers, seating) => {
      const { seats } = seating;
      const held = [...Map.groupBy(seats, (one) => one.offer.family).values()];
      const large = held.filter((group) => group.length >= 2).length;
      expect(seating).toMatchObject({
        makers: held.length,
        minFamilies: Math.max(1, Math.min(of.minFamilies, large)),
        copies: seats
          .filter((one) => holders(seating, one.offer.model).length > 1)
          .map((one) => one.seat),
        lowered: seats.filter((one) => above(of, one, one.offer) < 0).map((one) => one.seat),
      });
    });
  });
});

describe('the models beside the panel', () => {
  test('the models beside the panel have two extractors from outside it wherever so many are offered', () => {
    always((_of, offers, { seats, extractors }) => {
      const panel = new Set(seats.map((one) => one.offer));
      const outside = offers.filter((each) => !panel.has(each)).length;
      const [first, second] = extractors;
      expect(panel.has(first!.offer)).toBe(outside === 0);
      expect(panel.has(second!.offer)).toBe(outside < 2);
      expect(second!.offer === first!.offer).toBe(offers.length === 1);
    });
  });

  test('the models beside the panel have verifiers of two other makers than the writer’s wherever so many are offered', () => {
    always((_of, offers, { synthesizers, verifiers }) => {
      const makers = new Set(offers.map(({ family }) => family)).size;
      for (const [index, pair] of verifiers.entries()) {
        const three = [synthesizers[index]!, ...pair].map((one) => one.offer);
        expect(three.slice(1).includes(three[0]!)).toBe(offers.length === 1);
        expect(new Set(three).size).toBe(Math.min(3, offers.length));
        expect(new Set(three.map(({ family }) => family)).size).toBe(Math.min(3, makers));
      }
    });
  });

  test('the models beside the panel have two writers, and none of a higher tier than wanted while another is offered', () => {
    always((of, offers, { synthesizers: [one, two] }) => {
      expect(two!.offer === one!.offer).toBe(offers.length === 1);
      const wanted = tiers.indexOf(tierOf(of.synthesizers[0].model));
      const distances = offers.map(({ tier }) => tiers.indexOf(tier) - wanted);
      const taken = tiers.indexOf(one!.offer.tier) - wanted;
      expect(taken).toBeLessThanOrEqual(Math.max(0, Math.min(...distances)));
    });
  });
});

test('what breaks no rule of the design is the design with all of its models', () => {
  for (const of of catalogue.strategies) {
    const designed = seated(of, everything);
    expect(designed).toMatchObject({
      substitutions: [],
      lowered: [],
      copies: [],
      independence: [],
      makers: 4,
      minFamilies: of.minFamilies,
      reviewsPerSeat: of.reviewsPerSeat,
      unavailable: null,
    });
    const uses = (list: Seating['extractors']) => list.map(({ offer: { model } }) => model);
    const wanted = (list: readonly { model: string }[]) => list.map(({ model }) => model);
    expect(uses(designed.seats)).toEqual(wanted(of.panel));
    expect(uses(designed.extractors)).toEqual(wanted(of.extractors));
    expect(uses(designed.synthesizers)).toEqual(wanted(of.synthesizers));
    expect(designed.verifiers.map(uses)).toEqual(of.verifiers.map(wanted));
  }
});

const places = [
  'extractor',
  'second extractor',
  'writer',
  'second writer',
  'first verifier',
  'second verifier',
  'first verifier of the second writer',
  'second verifier of the second writer',
];

function copiesIn({ seats, substitutions }: Seating): Seat[] {
  const codes = substitutions
    .filter(({ reason }) => reason.endsWith('takes a further seat.'))
    .map((one) => one.seat);
  return seats.filter((one) => codes.includes(one.seat));
}

function cost({ price }: Offer): number {
  return price === null ? Infinity : 3 * price.inputPerMTok + price.outputPerMTok;
}

function sorted<Item>(items: readonly Item[]): Item[] {
  return items.toSorted((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1));
}
