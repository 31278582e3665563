import { describe, expect, it } from 'vitest';
import { loadCatalogue } from '#services/models/catalogue.ts';
import { modelsOf, problemsOf } from '#services/models/strategies.ts';
import type { Strategy } from '#services/models/strategies.ts';

const catalogue = loadCatalogue(null);
const { modelOf, strategies } = catalogue;
const balanced = catalogue.strategyOf('balanced')!;

function changed(change: (strategy: Strategy) => void): Strategy {
  const copy = structuredClone(balanced);
  change(copy);
  return copy;
}

describe('the strategies', () => {
  it('each strategy has its own id, and only balanced is recommended, at 14 credits', () => {
    expect(new Set(strategies.map(({ id }) => id)).size).toBe(strategies.length);
    expect(balanced.credits).toBe(14);
    expect(strategies.filter((each) => each.recommended).map((each) => each.id)).toEqual([
      'balanced',
    ]);
  });

  it('each strategy gives every seat its code and its role', () => {
    expect(balanced.panel.map(({ seat, role, model }) => `${seat} ${role} ${model}`)).toEqual([
      'S1 strategic gpt-6.1-terra',
      'S2 strategic claude-sonnet-5-5',
      'S3 strategic gemini-4-hydrogen',
      'R1 risk mistral-medium-2604',
      'R2 risk claude-haiku-5-5',
      'I1 implementation gemini-3.8-flash',
      'I2 implementation gpt-6-luna',
    ]);
  });

  it.each(strategies.map((each) => [each.id, each] as const))(
    'the two synthesisers of %s verify each other’s drafts',
    (_id, { synthesizers, verifiers }) => {
      expect(synthesizers[1]).toEqual(verifiers[0][0]);
      expect(verifiers[1]).toEqual([verifiers[0][1], synthesizers[0]]);
    },
  );

  it('the strategies call only models that the catalogue lists', () => {
    const called = strategies.flatMap(modelsOf);
    expect(called.filter((id) => modelOf(id) === null)).toEqual([]);
  });
});

describe('the check of a strategy', () => {
  it('the check of a strategy accepts every configured strategy', () => {
    expect(strategies.flatMap((each) => problemsOf(each, modelOf))).toEqual([]);
  });

  it.each<[string, string, (strategy: Strategy) => void]>([
    [
      'a seated extractor',
      'seats its extractor gpt-6-luna',
      (each) => {
        each.extractors[0] = { model: 'gpt-6-luna', effort: null };
      },
    ],
    [
      'two extractors of one family',
      'has two extractors of one family',
      (each) => {
        each.extractors[1] = { model: 'gpt-6.1-sol', effort: null };
      },
    ],
    [
      'a verifier of the writer’s family',
      'lets a family verify itself',
      (each) => {
        each.verifiers[0][0] = { model: 'claude-opus-5-5', effort: null };
      },
    ],
    [
      'two verifiers of one family',
      'lets a family verify itself or another verifier',
      (each) => {
        each.verifiers[1][0] = { model: 'claude-opus-5-5', effort: null };
      },
    ],
    [
      'two synthesisers of one family',
      'has two synthesisers of one family',
      (each) => {
        each.synthesizers[1] = { model: 'claude-opus-5-5', effort: null };
      },
    ],
    [
      'six seats',
      'has fewer than 7 seats',
      (each) => {
        each.panel.splice(2, 1);
      },
    ],
    [
      'one family in a role',
      'seats fewer than 2 families as risk',
      (each) => {
        each.panel[3]!.model = 'claude-opus-5-5';
      },
    ],
    [
      'a model twice',
      'seats a model twice',
      (each) => {
        each.panel[6]!.model = 'gpt-6.1-terra';
      },
    ],
    [
      'a letter that is not the role',
      'has a seat whose letter is not its role',
      (each) => {
        each.panel[0]!.seat = 'R9';
      },
    ],
    [
      'an unknown model',
      'names gpt-7, which the catalogue does not list',
      (each) => {
        each.panel[0]!.model = 'gpt-7';
      },
    ],
    [
      'an effort that the model lacks',
      'asks gemini-4-hydrogen for effort none',
      (each) => {
        each.panel[2]!.effort = 'none';
      },
    ],
    [
      'more reviews than peers',
      'asks for more reviews than there are peers',
      (each) => {
        each.reviewsPerSeat = 7;
      },
    ],
    [
      'stages longer than the run',
      'has stages that outlast the run',
      (each) => {
        each.deadlines.runMs = 300_000;
      },
    ],
    [
      'more output than a model gives',
      'asks gemini-4-hydrogen for too much output',
      (each) => {
        each.maxOutputTokens = 100_000;
      },
    ],
  ])('the check of a strategy refuses %s', (_what, problem, change) => {
    expect(problemsOf(changed(change), modelOf).join('\n')).toContain(problem);
  });
});
