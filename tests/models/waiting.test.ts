import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { loadCatalogue } from '#services/models/catalogue.ts';
import { longestRunMs } from '#services/models/strategies.ts';
import { hours, lanesOf, measuredSeconds, waitingFor } from '#services/models/waiting.ts';
import type { Deadlines, Lane, Lanes, Waiting } from '#services/models/waiting.ts';
import { callsByStage } from '#services/optimizations/run/lanes.ts';
import type { CalledModels } from '#services/optimizations/run/lanes.ts';

const designed: Deadlines = {
  opinions: { softMs: 120_000, hardMs: 240_000 },
  claimsMs: 90_000,
  reviews: { softMs: 120_000, hardMs: 240_000 },
  synthesisMs: 300_000,
  runMs: 960_000,
};

/** Seven seats and all other models at one provider. */
function panelAt(provider: string, seats = 7): CalledModels {
  const models = (count: number) => Array.from({ length: count }, () => ({ provider }));
  return {
    seats: models(seats),
    extractors: models(2),
    synthesizers: models(2),
    verifiers: [models(2), models(2)],
  };
}

function secondsOf({ deadlines, typicalSeconds }: Exclude<Waiting, { unavailable: string }>) {
  const { opinions, claimsMs, reviews, synthesisMs, runMs } = deadlines;
  const hardMs = [opinions.hardMs, claimsMs, reviews.hardMs, synthesisMs, runMs];
  return [...hardMs.map((each) => each / 1000), typicalSeconds];
}

function waitingAt(panel: CalledModels, lanes: Lanes) {
  return waitingFor(designed, callsByStage(panel), lanes);
}

describe('the lanes of providers', () => {
  const baseUrl = 'https://models.example/v1';
  const local = 'http://127.0.0.1:1234/v1';
  const endpoints = [
    { name: 'cloud', baseUrl, concurrency: null },
    { name: 'lab', baseUrl, concurrency: 2 },
    { name: 'desk', baseUrl: local, concurrency: null },
    { name: 'server', baseUrl: local, concurrency: 8 },
  ];

  test.each<[string, Lane | undefined]>([
    ['ollama', { concurrency: 1, secondsPerCall: 120 }],
    ['cloud', { concurrency: 4, secondsPerCall: null }],
    ['lab', { concurrency: 2, secondsPerCall: null }],
    ['desk', { concurrency: 1, secondsPerCall: 120 }],
    ['server', { concurrency: 8, secondsPerCall: 120 }],
    ['openai', undefined],
    ['google', undefined],
  ])('calls to %s wait in lanes of %o', (provider, lane) => {
    expect(lanesOf([provider], endpoints)[provider]).toEqual(lane);
  });

  test('an endpoint that takes more than eight calls at a time has no lanes', () => {
    const big = { name: 'big', baseUrl };
    expect(lanesOf(['big'], [{ ...big, concurrency: 8 }])).toHaveProperty('big');
    expect(lanesOf(['big'], [{ ...big, concurrency: 9 }])).toEqual({});
  });
});

describe('the seconds of a call', () => {
  const milliseconds = fc.integer({ min: 0, max: 600_000 });

  test('fewer than twenty calls measure nothing', () => {
    fc.assert(
      fc.property(fc.array(milliseconds, { maxLength: 19 }), (latencies) => {
        expect(measuredSeconds(latencies)).toBeNull();
      }),
    );
  });

  test('at least nine calls of ten took no longer than the measured seconds, and fewer took a second less', () => {
    fc.assert(
      fc.property(fc.array(milliseconds, { minLength: 20, maxLength: 200 }), (latencies) => {
        const seconds = measuredSeconds(latencies) ?? 0;
        const within = (limit: number) => latencies.filter((each) => each <= limit * 1000).length;
        expect(within(seconds)).toBeGreaterThanOrEqual(0.9 * latencies.length);
        expect(seconds === 1 || within(seconds - 1) < 0.9 * latencies.length).toBe(true);
      }),
    );
  });

  test('the measured seconds of one hundred calls are those of the ninetieth', () => {
    const latencies = Array.from({ length: 100 }, (_, index) => 1000 * (100 - index));
    expect(measuredSeconds(latencies)).toBe(90);
  });
});

describe('the deadlines of a run that waits', () => {
  /** Seconds of opinions, claims, reviews, synthesis and the run, and what is shown. */
  const cases: readonly [string, CalledModels, Lanes, readonly (number | null)[] | string][] = [
    [
      'seven seats at Ollama',
      panelAt('ollama'),
      { ollama: { concurrency: 1, secondsPerCall: 120 } },
      [1260, 360, 1260, 540, 3762, 1881],
    ],
    [
      'twelve seats at Ollama',
      panelAt('ollama', 12),
      { ollama: { concurrency: 1, secondsPerCall: 120 } },
      [2160, 360, 2160, 540, 5742, 2871],
    ],
    [
      'a fast computer, which waits for its opinions and reviews alone',
      panelAt('ollama'),
      { ollama: { concurrency: 1, secondsPerCall: 25 } },
      [262.5, 90, 262.5, 300, 1006.5, 503],
    ],
    [
      'a faster computer, for which the designed deadlines are long enough',
      panelAt('ollama'),
      { ollama: { concurrency: 1, secondsPerCall: 20 } },
      [240, 90, 240, 300, 960, null],
    ],
    [
      'an endpoint whose speed is unknown',
      panelAt('cloud'),
      { cloud: { concurrency: 4, secondsPerCall: null } },
      [240, 90, 240, 300, 960, null],
    ],
    [
      'a slow endpoint with four calls at a time, whose verifiers wait for the draft',
      panelAt('lab'),
      { lab: { concurrency: 4, secondsPerCall: 120 } },
      [360, 360, 360, 360, 1584, 792],
    ],
    [
      'one seat of seven at Ollama',
      { ...panelAt('openai'), seats: [...panelAt('openai', 6).seats, { provider: 'ollama' }] },
      { ollama: { concurrency: 1, secondsPerCall: 200 } },
      [300, 90, 300, 300, 1089, 545],
    ],
    [
      'a computer that is too slow for seven seats',
      panelAt('ollama'),
      { ollama: { concurrency: 1, secondsPerCall: 400 } },
      'Ollama answers one call at a time, in about 400 seconds each. A run could take 3 h 29 min; the limit is 3 h.',
    ],
    [
      'an endpoint that is too slow for twelve seats',
      panelAt('lab', 12),
      { lab: { concurrency: 2, secondsPerCall: 700 } },
      'lab answers 2 calls at a time, in about 700 seconds each. A run could take 5 h 8 min; the limit is 3 h.',
    ],
  ];

  test.each(cases)('the deadlines of %s', (_name, panel, lanes, expected) => {
    const waiting = waitingAt(panel, lanes);
    expect('unavailable' in waiting ? waiting.unavailable : secondsOf(waiting)).toEqual(expected);
  });

  test('a stage that waits has no soft deadline of its own, and another keeps it', () => {
    const slow = waitingAt(panelAt('ollama'), { ollama: { concurrency: 1, secondsPerCall: 120 } });
    expect(slow).toMatchObject({ deadlines: { opinions: { softMs: 1_260_000 } } });
    const claimsAlone = { ...panelAt('openai'), extractors: panelAt('ollama').extractors };
    const lanes = { ollama: { concurrency: 1, secondsPerCall: 120 } };
    expect(waitingAt(claimsAlone, lanes)).toMatchObject({
      deadlines: { opinions: designed.opinions, claimsMs: 360_000, reviews: designed.reviews },
    });
  });

  const provider = fc.constantFrom('ollama', 'lab', 'openai');
  const models = (length: number) =>
    fc.array(fc.record({ provider }), { minLength: length, maxLength: length });
  const panels: fc.Arbitrary<CalledModels> = fc.integer({ min: 7, max: 12 }).chain((seats) =>
    fc.record({
      seats: models(seats),
      extractors: models(2),
      synthesizers: models(2),
      verifiers: fc.tuple(models(2), models(2)),
    }),
  );
  const lane = fc.record({
    concurrency: fc.integer({ min: 1, max: 8 }),
    secondsPerCall: fc.option(fc.integer({ min: 1, max: 900 }), { nil: null, freq: 5 }),
  });
  const lanesOfTwo: fc.Arbitrary<Lanes> = fc.record({ ollama: lane, lab: lane });
  const anyDesigned = fc.constantFrom(
    ...loadCatalogue(null).strategies.map(({ deadlines }) => deadlines),
  );

  /** When the last call of a stage ends, if each begins as soon as its provider has a place. */
  function simulated(steps: readonly (readonly { provider: string }[])[], lanes: Lanes): number {
    let now = 0;
    for (const step of steps) {
      const free = new Map<string, number[]>();
      const ends = step.map((model) => {
        const found = lanes[model.provider];
        if (!found || found.secondsPerCall === null) return now;
        const places =
          free.get(model.provider) ?? Array.from({ length: found.concurrency }, () => now);
        free.set(model.provider, places);
        const place = places.indexOf(Math.min(...places));
        places[place] = places[place]! + found.secondsPerCall * 1000;
        return places[place];
      });
      now = Math.max(now, ...ends);
    }
    return now;
  }

  test('calls that take their seconds end within two thirds of the deadlines, and no run is longer than its limit', () => {
    fc.assert(
      fc.property(anyDesigned, panels, lanesOfTwo, (given, panel, lanes) => {
        const waiting = waitingFor(given, callsByStage(panel), lanes);
        if ('unavailable' in waiting) return;
        const { deadlines } = waiting;
        const { seats, extractors, synthesizers, verifiers } = panel;
        const stages = [
          [[seats], deadlines.opinions.hardMs, given.opinions.hardMs],
          [extractors.map((each) => [each]), deadlines.claimsMs, given.claimsMs],
          [[seats], deadlines.reviews.hardMs, given.reviews.hardMs],
          [[[synthesizers[0]!], verifiers[0]!], deadlines.synthesisMs, given.synthesisMs],
        ] as const;
        let sumMs = 0;
        for (const [steps, hardMs, givenMs] of stages) {
          expect(hardMs).toBeGreaterThanOrEqual(givenMs);
          expect(hardMs * 2).toBeGreaterThanOrEqual(simulated(steps, lanes) * 3 - 1);
          sumMs += hardMs;
        }
        expect(deadlines.runMs).toBeLessThanOrEqual(longestRunMs);
        const expected =
          waiting.typicalSeconds === null
            ? given
            : { ...deadlines, runMs: Math.max(given.runMs, sumMs + Math.ceil(sumMs / 10)) };
        expect(deadlines).toEqual(expected);
        expect([null, Math.round(deadlines.runMs / 2000)]).toContain(waiting.typicalSeconds);
      }),
    );
  });

  test('a slower provider, or one with fewer calls at a time, never makes a deadline shorter', () => {
    fc.assert(
      fc.property(panels, lanesOfTwo, fc.integer({ min: 1, max: 100 }), (panel, lanes, more) => {
        const { concurrency, secondsPerCall } = lanes['ollama']!;
        const before = waitingAt(panel, lanes);
        const slower = [
          { concurrency, secondsPerCall: (secondsPerCall ?? 0) + more },
          { concurrency: Math.max(1, concurrency - 1), secondsPerCall },
        ];
        for (const ollama of slower) {
          const after = waitingAt(panel, { ...lanes, ollama });
          if ('unavailable' in after) continue;
          if ('unavailable' in before) throw new Error('available although it is slower');
          expect(after.deadlines.opinions.hardMs).toBeGreaterThanOrEqual(
            before.deadlines.opinions.hardMs,
          );
          expect(after.deadlines.runMs).toBeGreaterThanOrEqual(before.deadlines.runMs);
        }
      }),
    );
  });
});

test.each([
  [60_000, '1 min'],
  [3_600_000, '1 h'],
  [3_600_001, '1 h 1 min'],
  [longestRunMs, '3 h'],
])('%d milliseconds read as %s', (milliseconds, words) => {
  expect(hours(milliseconds)).toBe(words);
});
