import { afterEach, expect, test } from 'vitest';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import { runEventOf } from '#services/optimizations/reading/read-run.ts';
import { streamOf } from '#services/optimizations/run/events.ts';
import type { StrategyId } from '#services/models/strategy-list.ts';
import type { EnvSource } from '#services/platform/process/env.ts';
import { createTestCouncil } from '#tests/support/council.ts';
import type { TestCouncil } from '#tests/support/council.ts';
import { oneIn } from '#tests/support/properties.ts';
import { give } from '#tests/support/processes/service.ts';
import { startSlowProvider } from '#tests/support/slow/provider.ts';

/** A whole run with each of what docs/models.md says a person may have. */
type Recipe = {
  strategy: StrategyId;
  env: (sandboxUrl: string) => EnvSource;
  /** The provider of every call, and what its cost is taken from. */
  providers: readonly string[];
  costs: readonly ('billed' | 'priced' | 'local')[];
  seats: number;
  isDesigned: boolean;
  /** Whether agreement says little, because makers or models are few. */
  hasCopies: boolean;
};

const vendors = (url: string, ...names: readonly (keyof typeof paths)[]): EnvSource =>
  Object.fromEntries(
    names.flatMap((name) => [
      [`${name.toUpperCase()}_API_KEY`, 'key'],
      [`${name.toUpperCase()}_URL`, `${url}${paths[name]}`],
    ]),
  );
const paths = {
  openai: '/openai/v1',
  anthropic: '/anthropic',
  google: '/google',
  mistral: '/mistral',
  openrouter: '/openrouter/api/v1',
} as const;

const ollama = await startSlowProvider({ tokensPerSecond: Infinity, models: 2 });

const recipes: [string, Recipe][] = [
  [
    'one key of OpenRouter',
    {
      strategy: 'balanced',
      env: (url) => vendors(url, 'openrouter'),
      providers: ['openrouter'],
      costs: ['billed'],
      seats: 7,
      isDesigned: true,
      hasCopies: false,
    },
  ],
  [
    'one key of a vendor',
    {
      strategy: 'economy',
      env: (url) => vendors(url, 'openai'),
      providers: ['openai'],
      costs: ['priced'],
      seats: 7,
      isDesigned: false,
      hasCopies: true,
    },
  ],
  [
    'Ollama with two models',
    {
      strategy: 'fast',
      env: (url) => {
        ollama.answersFrom(url);
        return { OLLAMA_URL: `${ollama.url}/ollama` };
      },
      providers: ['ollama'],
      costs: ['local'],
      seats: 7,
      isDesigned: false,
      hasCopies: true,
    },
  ],
  [
    'LM Studio with two models',
    {
      strategy: 'fast',
      // Models may have any name, also one that every object has.
      env: (url) => ({
        OPENAI_COMPATIBLE_ENDPOINTS: `lm-studio|${url}/compatible/v1||constructor,__proto__`,
      }),
      providers: ['lm-studio'],
      costs: ['local'],
      seats: 7,
      isDesigned: false,
      hasCopies: true,
    },
  ],
  [
    'the keys of all four vendors',
    {
      strategy: 'comprehensive',
      env: (url) => vendors(url, 'openai', 'anthropic', 'google', 'mistral'),
      providers: ['anthropic', 'google', 'mistral', 'openai'],
      costs: ['priced'],
      seats: 12,
      isDesigned: true,
      hasCopies: false,
    },
  ],
];

let council: TestCouncil | null = null;
afterEach(async () => council?.close());

test.each(oneIn(2, recipes))(
  'a run with %s completes and says what its agreement is worth',
  async (_what, recipe) => {
    council = await createTestCouncil({ env: recipe.env });
    const person = await council.signUp();
    await give(council, person.userId, 100);
    const question = {
      challenge: 'Should I hire a part-time assistant or automate my invoices first?',
    };
    const { strategy } = recipe;
    const { estimate } = await council.data<{
      estimate: { available: boolean; substitutions: unknown[] };
    }>('/optimizations/estimate', {
      token: person.token,
      body: { strategy, challengeText: question.challenge },
    });
    const run = await council.ask(person, { ...question, strategy });
    expect(run).toMatchObject({
      status: 'completed',
      simulated: false,
      result: { heading: 'recommendation' },
      credits: { refunded: 0 },
    });
    expect(run.models).toHaveLength(recipe.seats);
    expect(run.models.map(({ status }) => status)).toEqual(run.models.map(() => 'completed'));
    expect(estimate).toMatchObject({ available: true });
    expect(estimate.substitutions).toEqual(run.council.seating?.substitutions);
    expect(run.council.seating?.substitutions.length === 0).toBe(recipe.isDesigned);
    expect(saysLittle(run)).toBe(recipe.hasCopies);
    expect(run.evolution.bias).toMatchObject(
      recipe.hasCopies ? { clear_winner: null, clear_winner_reason: 'copies' } : {},
    );
    const most = recipe.hasCopies ? 79 : 100;
    expect(run.evolution.bias?.agreement_score ?? 0).toBeLessThanOrEqual(most);
    const { events } = await council.core.readStream(streamOf(run.id));
    const calls = events.map(runEventOf);
    const called = calls.flatMap((event) => (event.type === 'CallStarted' ? [event.data] : []));
    const ended = calls.flatMap((event) => (event.type === 'CallSucceeded' ? [event.data] : []));
    expect([...new Set(called.map(({ provider }) => provider))].toSorted()).toEqual(
      recipe.providers,
    );
    expect([...new Set(ended.map(({ costSource }) => costSource))]).toEqual(recipe.costs);
    expect((run.cost ?? -1) > 0).toBe(!recipe.costs.includes('local'));
  },
);

function saysLittle(run: Optimization): boolean {
  const sentence = 'Copies of one model tend to agree; agreement says little here.';
  const said = [
    run.council.seating?.independence.includes(sentence),
    run.evolution.bias?.agreement_note?.includes(sentence) ?? false,
  ];
  expect(new Set(said).size).toBe(1);
  return said[0] === true;
}
