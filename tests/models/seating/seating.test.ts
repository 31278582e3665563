import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Offer } from '#services/models/offer.ts';
import { seat } from '#services/models/seating.ts';
import type { Seating, SeatingSettings } from '#services/models/seating.ts';
import { localContexts } from '#services/models/seating/local-context.ts';
import { verdictOf } from '#services/models/seating/independence.ts';
import {
  cardSentence,
  copiesSentence,
  independenceSentence,
} from '#services/models/seating/words.ts';
import { pairCoverage, reviewOffsets } from '#services/optimizations/council/assignments.ts';
import { bounds, catalogue, offer, offersOf, settings, vendors } from './offers.ts';
import type { Connected } from './offers.ts';

const nothing: Connected = { vendors: [], openrouter: false, ollama: 0, endpoint: false };
const everything = offersOf({ ...nothing, vendors });
const without = (...models: string[]) => everything.filter(({ model }) => !models.includes(model));
const balanced = catalogue.strategyOf('balanced')!;

const seated = (
  offers: readonly Offer[],
  parts: Partial<SeatingSettings> = {},
  strategy = balanced,
): Seating => seat(strategy, offers, catalogue.modelOf, { ...settings, ...parts });

const production = { lifted: bounds.production };
const local = (model: string, parts: Partial<Offer> = {}) =>
  offer({ model, price: { inputPerMTok: 0, outputPerMTok: 0 }, ...parts });

describe('the seating of balanced', () => {
  test('the seating of balanced gives a retired model’s seat to the maker that sits least, and says why', () => {
    const seating = seated(without('gemini-3.8-flash'));
    expect(seating.seats.find((one) => one.seat === 'I1')?.offer.model).toBe('mistral-large-2512');
    expect(seating.substitutions).toEqual([
      {
        seat: 'I1',
        wanted: 'Gemini 3.8 Flash',
        seated: 'Mistral Large 3',
        reason:
          'Gemini 3.8 Flash is not available, so Mistral Large 3 takes the seat, a model of the same class.',
      },
      {
        seat: 'second verifier',
        wanted: 'Gemini 3.8 Flash',
        seated: 'Mistral Large 3',
        reason: 'Gemini 3.8 Flash is not available, so Mistral Large 3 takes its place.',
      },
      {
        seat: 'first verifier of the second writer',
        wanted: 'Gemini 3.8 Flash',
        seated: 'Mistral Large 3',
        reason: 'Gemini 3.8 Flash is not available, so Mistral Large 3 takes its place.',
      },
    ]);
    expect(cardSentence(seating)).toBe(
      '6 of 7 seats as designed, 1 substituted; also substituted: second verifier and first verifier of the second writer',
    );
  });

  test('the seating of balanced keeps the extractor’s model off the panel while another one can sit', () => {
    const openai = offersOf({ ...nothing, vendors: ['openai'] });
    const seating = seated(openai);
    expect(seating.extractors[0]?.offer.model).toBe('gpt-5.6-luna');
    expect(seating.seats.map((one) => one.offer.model)).not.toContain('gpt-5.6-luna');
    const alone = seated(openai.filter(({ model }) => model === 'gpt-5.6-luna'));
    expect(new Set(alone.seats.map((one) => one.offer.model))).toEqual(new Set(['gpt-5.6-luna']));
    expect(alone.independence).toContain('GPT-5.6 Luna, the extractor, also sits on the panel.');
  });

  test('the seating of balanced with one local model says that copies agree and who checks', () => {
    const seating = seated([local('llama')]);
    expect(seating).toMatchObject({ makers: 1, minFamilies: 1, estimate: 0 });
    expect(seating.copies).toHaveLength(7);
    expect(independenceSentence(seating)).toBe(copiesSentence);
    expect(seating.independence).toEqual([
      'llama holds 7 of 7 seats.',
      'All models of the panel come from one maker.',
      'llama, the extractor, also sits on the panel.',
      'llama, the second extractor, also sits on the panel.',
      'Both extractors come from one maker.',
      'Both writers come from one maker.',
      'A model checks the answer that it wrote.',
      'Both verifiers of an answer come from one maker.',
    ]);
  });

  test.each([
    [{ seats: panelOf('a', 'b', 'c', 'd'), makers: 2 }, false],
    [{ seats: panelOf('a', 'b', 'c', 'd'), makers: 1 }, true],
    [{ seats: panelOf('a', 'b', 'c', 'a'), makers: 3 }, true],
  ])('a panel of %j warns of copies: %s', (panel, warns) => {
    const facts = { ...panel, substitutions: [] };
    expect(independenceSentence(facts)).toBe(warns ? copiesSentence : null);
  });

  test('the seating of balanced uses the first offer of a model that is offered twice', () => {
    const own = everything.find(({ model }) => model === 'gpt-6-luna')!;
    const seating = seated([{ ...own, provider: 'openai' }, ...everything]);
    expect(seating.seats.find((one) => one.seat === 'I2')?.offer.provider).toBe('openai');
  });

  test('the seating of balanced asks a stand-in for the nearest effort that it knows', () => {
    const fast = catalogue.strategyOf('fast')!;
    const effortOf = (efforts: Offer['efforts']) =>
      seated([local('llama', { efforts })], {}, fast).seats.map((one) => one.effort);
    expect(new Set(effortOf(['low', 'high']))).toEqual(new Set(['low']));
    expect(new Set(effortOf(['none', 'high']))).toEqual(new Set(['none']));
    expect(new Set(effortOf([]))).toEqual(new Set([null]));
  });

  // By seat, then both extractors, both writers and the verifiers of the first.
  test.each([
    [
      'balanced',
      'medium medium medium high medium medium medium',
      'low low low none low low low',
      'low low medium medium low low',
    ],
    [
      'reasoning-focused',
      'high high high high high xhigh xhigh',
      'low low low high low low low',
      'low low medium medium low low',
    ],
    [
      'fast',
      'none none none minimal none low none',
      'none none none minimal none low none',
      'low low none none none none',
    ],
  ])(
    'the answers, reviews and other calls of %s have the efforts %s, %s and %s',
    (id, ...wanted) => {
      const { seats, extractors, synthesizers, verifiers } = seated(
        everything,
        {},
        catalogue.strategyOf(id)!,
      );
      const others = [...extractors, ...synthesizers, ...verifiers[0]!];
      expect([
        seats.map((one) => one.effort).join(' '),
        seats.map((one) => one.reviewEffort).join(' '),
        others.map((one) => one.effort).join(' '),
      ]).toEqual(wanted);
    },
  );

  test('a strategy that wants an unknown model is refused', () => {
    expect(() => seat(balanced, everything, () => null, settings)).toThrow(RangeError);
  });
});

describe('a strategy is unavailable', () => {
  test('a strategy is unavailable when nothing is offered, and names all its models', () => {
    const { unavailable, seats } = seated([]);
    expect(seats).toEqual([]);
    expect(unavailable?.reason).toBe('No model is available.');
    expect(unavailable?.missing).toHaveLength(9);
  });

  test('a strategy is unavailable when a model is missing and none may stand in', () => {
    const partly = without('claude-sonnet-5-5', 'gemini-3.8-flash', 'gpt-5.6-luna');
    expect(seated(partly, { substitute: false }).unavailable).toEqual({
      reason:
        'This strategy needs Claude Sonnet 5.5, Gemini 3.8 Flash and GPT-5.6 Luna, and no other model may stand in.',
      missing: ['claude-sonnet-5-5', 'gemini-3.8-flash', 'gpt-5.6-luna'],
    });
    expect(seated(everything, { substitute: false })).toMatchObject({
      unavailable: null,
      substitutions: [],
    });
  });

  test('a strategy is unavailable when a wanted model is too small for the question and none may stand in', () => {
    const shrunk = everything.map((each) =>
      each.model === 'gpt-6-luna' ? { ...each, contextTokens: 4000 } : each,
    );
    expect(seated(shrunk, { substitute: false }).unavailable?.reason).toBe(
      'GPT-6 Luna cannot hold a question of this length.',
    );
    expect(seated(shrunk).substitutions[0]?.reason).toMatch(
      /^GPT-6 Luna cannot hold a question of this length, so .* takes the seat/,
    );
  });

  test.each<[string, Offer[], Partial<SeatingSettings>, string | null]>([
    ['two seats are lower', without('gpt-6.1-terra', 'mistral-large-2512'), {}, null],
    [
      'five seats are lower',
      [local('llama')],
      {},
      '5 of 7 seats would have a model of a lower class than designed; at most 2 may.',
    ],
    ['five seats are lower', [local('llama')], { lifted: { seats: true, price: false } }, null],
    ['its models cost less than half of its price', priced(6.5), {}, null],
    [
      'its models are too expensive',
      priced(8),
      {},
      'With these models a run would cost more than its price allows.',
    ],
    ['its models are too expensive', priced(8), { lifted: { seats: false, price: true } }, null],
    ['its models are too expensive', priced(8), { lifted: bounds.local }, null],
    [
      'two prices are unknown',
      everything.map((each) =>
        each.family === 'mistral' || each.model === 'gpt-5.6-luna'
          ? { ...each, price: null }
          : each,
      ),
      {},
      'The price of Mistral Medium 3.5 and GPT-5.6 Luna is not known.',
    ],
    [
      'both bounds break',
      [local('llama', { price: null })],
      {},
      '5 of 7 seats would have a model of a lower class than designed; at most 2 may. The price of llama is not known.',
    ],
  ])('a strategy in production where %s: case %#', (_, offers, parts, reason) => {
    const { unavailable, seats } = seated(offers, { ...production, ...parts });
    expect(unavailable?.reason ?? null).toBe(reason);
    expect(seats).toHaveLength(7);
  });

  test('a model of unknown price stands in for a wanted one only in local mode', () => {
    const offers = [
      ...without('gemini-3.8-flash', 'mistral-large-2512'),
      local('moonlight', { tier: 'mid', price: null }),
    ];
    const names = ({ seats }: Seating) => seats.map((one) => one.offer.model);
    expect(names(seated(offers))).toContain('moonlight');
    expect(names(seated(offers, production))).not.toContain('moonlight');
  });
});

describe('a small context', () => {
  const withContext = (contextTokens: number, challengeCharacters = 2000) =>
    seated([local('llama', { contextTokens })], { challengeCharacters });

  test.each([
    [16_384, 6],
    [15_400, 6],
  ])('a model with %i tokens reviews %i answers', (contextTokens, reviews) => {
    expect(withContext(contextTokens)).toMatchObject({
      reviewsPerSeat: reviews,
      unavailable: null,
    });
  });

  test('a small context on the panel lowers the reviews of every seat, and the verdict with them', () => {
    const shrunk = (contextTokens: number) =>
      seated(
        everything.map((each) =>
          each.model === 'claude-haiku-5-5' ? { ...each, contextTokens } : each,
        ),
      );
    const measured = [13_000, 10_000, 9000, 7000].map((contextTokens) => {
      const { reviewsPerSeat, verdict, substitutions } = shrunk(contextTokens);
      return { contextTokens, reviewsPerSeat, verdict, substituted: substitutions.length };
    });
    expect(measured).toEqual([
      { contextTokens: 13_000, reviewsPerSeat: 6, verdict: 'full', substituted: 0 },
      { contextTokens: 10_000, reviewsPerSeat: 4, verdict: 'order_only', substituted: 0 },
      { contextTokens: 9000, reviewsPerSeat: 3, verdict: 'order_only', substituted: 0 },
      { contextTokens: 7000, reviewsPerSeat: 6, verdict: 'full', substituted: 1 },
    ]);
  });

  const tooSmall =
    'No available model can hold a question of this length with the answers of all seats.';

  test('a small context that holds no review, ledger or draft makes the strategy unavailable', () => {
    fc.assert(
      fc.property(fc.integer({ min: 500, max: 20_000 }), fc.nat(40_000), (tokens, characters) => {
        const { unavailable, reviewsPerSeat, seats } = withContext(tokens, characters);
        const isWhole = unavailable === null && seats.length === 7 && reviewsPerSeat >= 3;
        const isRefused = unavailable?.reason === tooSmall && seats.length === 0;
        expect(isWhole || isRefused).toBe(true);
      }),
    );
    expect(withContext(4000).unavailable).not.toBeNull();
  });
});

describe('the estimate', () => {
  test.each(catalogue.strategies.map((each) => [each.id, each] as const))(
    'the estimate of %s as designed leaves half of its price',
    (_id, strategy) => {
      const { estimate } = seated(everything, production, strategy);
      expect(estimate).toBeLessThan((strategy.credits * settings.packagePrice * 1e6) / 2);
    },
  );

  test('the estimate grows with the question and is unknown when any model’s price is', () => {
    const short = seated(everything).estimate!;
    expect(seated(everything, { challengeCharacters: 20_000 }).estimate).toBeGreaterThan(short);
    const secondExtractor = everything.map((each) =>
      each.model === 'gemini-3.1-flash-lite' ? { ...each, price: null } : each,
    );
    expect(seated(secondExtractor)).toMatchObject({ estimate: null });
  });
});

test('the verdict of a strategy follows from how often its reviews compare two answers', () => {
  for (let seats = 7; seats <= 12; seats += 1)
    for (let reviews = 3; reviews < seats; reviews += 1) {
      const coverage = pairCoverage(seats, reviewOffsets(seats, reviews));
      const [least, most] = [Math.min(...coverage), Math.max(...coverage)];
      const expected = least >= 3 ? 'full' : most >= 3 ? 'may_stay_open' : 'order_only';
      expect([seats, reviews, verdictOf(seats, reviews)]).toEqual([seats, reviews, expected]);
    }
  const verdicts = catalogue.strategies.map(
    (each) => [each.id, verdictOf(each.panel.length, each.reviewsPerSeat)] as const,
  );
  expect(Object.fromEntries(verdicts)).toMatchObject({
    fast: 'order_only',
    economy: 'order_only',
    'ultra-economy': 'order_only',
    balanced: 'full',
    comprehensive: 'may_stay_open',
  });
});

test.each<[number[], string[], string]>([
  [[], [], 'All 7 seats as designed'],
  [[1, 2], [], '5 of 7 seats as designed, 2 substituted'],
  [[], ['writer'], 'All 7 seats as designed; also substituted: writer'],
  [
    [1],
    ['writer', 'second writer', 'second verifier'],
    '6 of 7 seats as designed, 1 substituted; also substituted: 3 of the 8 other roles',
  ],
  [
    [1],
    ['writer', 'second verifier'],
    '6 of 7 seats as designed, 1 substituted; also substituted: writer and second verifier',
  ],
])('the card of a panel that changed seats %j and roles %j reads well', (changed, roles, words) => {
  const seats = panelOf('a', 'b', 'c', 'd', 'e', 'f', 'g');
  const substitutions = [...changed.map((index) => `S${index}`), ...roles].map((code) => ({
    seat: code,
  }));
  expect(cardSentence({ seats, substitutions, makers: 4 })).toBe(words);
});

function panelOf(...names: string[]) {
  return names.map((model, index) => ({ seat: `S${index + 1}`, offer: { model } }));
}

function priced(times: number): Offer[] {
  return everything.map((each) => ({
    ...each,
    price: each.price && {
      inputPerMTok: each.price.inputPerMTok * times,
      outputPerMTok: each.price.outputPerMTok * times,
    },
  }));
}

test('a local model may have any name, also one that every object has', () => {
  const ids = ['constructor', '__proto__', 'qwen3:8b'];
  const offers = ids.map((id) => local(id, { provider: 'ollama' }));
  const council = { ...seated(offers), reviewsPerSeat: balanced.reviewsPerSeat };
  const stored: unknown = JSON.parse(
    JSON.stringify(localContexts(council, { challengeCharacters: 2000, filesCharacters: 0 })),
  );
  expect(Object.keys(stored as object).toSorted()).toEqual(ids.toSorted());
  expect(Object.values(stored as object)).toEqual(ids.map(() => expect.any(Number) as number));
});
