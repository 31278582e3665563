import { cpSync, readFileSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { EvaluationPlan } from '#services/evaluation/plan.ts';
import { conditionWords } from '#services/evaluation/answers/conditions.ts';
import { plantedBest } from '#services/evaluation/planted/planted.ts';
import { conditions } from '#services/evaluation/records/records.ts';
import { reportMarkdown } from '#services/evaluation/report/markdown.ts';
import { simulatedNotice } from '#services/evaluation/report/report.ts';
import { ModelFailure } from '#services/models/model.ts';
import type { ModelRegistry } from '#services/models/registry.ts';
import { evaluateHere, newFolder } from './evaluations.ts';
import type { Evaluated } from './evaluations.ts';

/** The whole chain on the sandbox; all cases and ten seeds are in `tests/proof`. */

const words = (path: string, ...more: readonly string[]) => ['--sandbox', '--out', path, ...more];

/** A best condition is named from 20 cases on. */
const enough = ['--cases', 'finance,hiring,marketing,product'];

test(
  'an evaluation finds the condition that was planted as the best',
  { tags: ['long'] },
  async () => {
    using folder = newFolder();
    const { report } = await evaluateHere(words(folder.path, ...enough, '--seed', '11'));
    expect(report.missing).toEqual([]);
    expect(report.simulated).toEqual({
      notice: simulatedNotice,
      plantedBest: plantedBest(11),
      found: true,
    });
    expect(report.figures.best).toBe(plantedBest(11));
    const best = conditionWords[plantedBest(11)];
    const markdown = reportMarkdown(report);
    expect(markdown).toContain(`Planted as the best: ${best}. The figures agree with this.`);
    expect(markdown).toContain(`In this simulation, **${best}** is better`);
  },
);

test(
  'a planted condition that is left out leaves no other to be found',
  { tags: ['long'] },
  async () => {
    using folder = newFolder();
    const { report } = await evaluateHere(
      words(folder.path, ...enough, '--plant', 'fused', '--conditions', 'strongest,council'),
    );
    expect(report.simulated).toMatchObject({ plantedBest: 'fused', found: true });
    expect(report.figures.best).toBeNull();
    expect(reportMarkdown(report)).toContain(
      'Planted as the best: Strongest model, fused with itself, which is not compared here, so no other is the best. The figures agree',
    );
  },
);

const fewest = ['--cases', 'finance', '--seed', '5'];
const few = ['--cases', 'finance,hiring', '--seed', '5'];
const council = ['--plant', 'council', ...few];
const providerKey = 'sk-secret-0123456789';

/** An evaluation that has ended, for the tests that only read it or continue it. */
let ended: ReturnType<typeof newFolder>;
let report: Evaluated['report'];
beforeAll(async () => {
  ended = newFolder();
  ({ report } = await evaluateHere(words(ended.path, ...council), {
    source: { OPENAI_API_KEY: providerKey },
  }));
});
afterAll(() => ended[Symbol.dispose]());

function copyOfEnded(): ReturnType<typeof newFolder> {
  const folder = newFolder();
  cpSync(ended.path, folder.path, { recursive: true });
  return folder;
}

describe('a report', () => {
  test('of simulated models says so in every part and line, and names no best with few cases', () => {
    const markdown = reportMarkdown(report);
    expect(readFileSync(join(ended.path, 'report.md'), 'utf8')).toBe(markdown);
    const headings = markdown.match(/^#.*$/gm) ?? [];
    expect(headings.length).toBeGreaterThan(5);
    for (const heading of headings) expect(heading).toMatch(/\(simulated\)$/);
    expect(markdown).toContain(simulatedNotice);
    expect(linesIn(ended.path, 'answers').every(({ simulated }) => simulated === true)).toBe(true);
    expect(linesIn(ended.path, 'judgments').every(({ simulated }) => simulated === true)).toBe(
      true,
    );
    expect(report.cases.asked).toBe(10);
    expect(report.figures).toMatchObject({ completeCases: 10, best: null });
    expect(markdown).toContain(
      'In this simulation, no condition is named the best with fewer than 20 complete cases.',
    );
    expect(markdown).toContain(`${simulatedNotice}** Planted as the best: Full council.\n`);
    expect(markdown).toContain(`The strongest model of the panel is ${report.strongest[0]}.`);
  });

  test('shows win rates that follow by hand from the counts beside them', () => {
    const rows = [
      ...reportMarkdown(report).matchAll(
        /^\|[^|]+\|[^|]+\| ([\d.]+)% \|[^|]+\| (\d+) \| (\d+) \| (\d+) \|/gm,
      ),
    ].map((row) => row.slice(1).map(Number) as [number, number, number, number]);
    expect(rows).toHaveLength(6);
    for (const [rate, won, tied, lost] of rows) {
      expect(won + tied + lost).toBe(report.figures.completeCases * report.judges.length);
      expect(((won + tied / 2) / (won + tied + lost)) * 100).toBeCloseTo(rate, 1);
    }
    expect(rows.some(([, won, , lost]) => won !== lost)).toBe(true);
  });

  test('has versions, models with ids and prices, and no key of any provider', () => {
    expect(Object.values(report.versions).every((version) => version.length > 4)).toBe(true);
    expect(report.models.length).toBeGreaterThan(7);
    for (const model of [...report.models, ...report.judges]) {
      expect(model.remoteId).not.toBe('');
      expect(model.inputPerMTok).toBeGreaterThan(0);
    }
    for (const file of ['report.md', 'report.json', 'answers.ndjson', 'calls.ndjson'])
      expect(readFileSync(join(ended.path, file), 'utf8')).not.toContain(providerKey);
  });
});

describe('an evaluation that is run again', () => {
  test('makes no call for what is there, and reports the same figures', async () => {
    using folder = copyOfEnded();
    const calls = linesIn(folder.path, 'calls').length;
    const second = await evaluateHere(words(folder.path, ...council));
    expect(linesIn(folder.path, 'calls')).toHaveLength(calls);
    expect(second.report.figures).toEqual(report.figures);
  });

  test('does the work of a torn last line again, and no other', async () => {
    using folder = copyOfEnded();
    const path = join(folder.path, 'judgments.ndjson');
    const judgments = linesIn(folder.path, 'judgments').length;
    const calls = linesIn(folder.path, 'calls').length;
    truncateSync(path, statSync(path).size - 10);
    const second = await evaluateHere(words(folder.path, ...council));
    expect(linesIn(folder.path, 'judgments')).toHaveLength(judgments);
    expect(linesIn(folder.path, 'calls')).toHaveLength(calls + 1);
    expect(second.report.figures).toEqual(report.figures);
  });

  test(
    'continues where the budget ended, and never counts more than the budget',
    { tags: ['long'] },
    async () => {
      using folder = newFolder();
      const asked = words(folder.path, ...council, '--parallel', '1');
      const { report: first } = await evaluateHere([...asked, '--budget-usd', '6']);
      expect(first.ended).toBe('budget');
      expect(first.budget.countedUsd).toBeLessThanOrEqual(6);
      expect(first.figures.completeCases).toBeGreaterThan(0);
      expect(first.figures.completeCases).toBeLessThan(10);
      // No money went into a case that cannot be compared, but for answers that a later run needs.
      const judgedCases = new Set(linesIn(folder.path, 'judgments').map(({ caseId }) => caseId));
      expect(judgedCases.size).toBe(first.figures.completeCases);
      expect(reportMarkdown(first)).toContain(
        '**Partial.** The budget did not allow a further call.',
      );
      const made = linesIn(folder.path, 'answers').length;
      const { report: second } = await evaluateHere([...asked, '--budget-usd', '50']);
      expect(second.ended).toBe('complete');
      expect(second.figures.comparisons).toEqual(report.figures.comparisons);
      expect(linesIn(folder.path, 'answers')).toHaveLength(40);
      expect(made).toBeLessThan(40);
      const spent = linesIn(folder.path, 'calls').reduce(
        (sum, { countedMicros }) => sum + Number(countedMicros),
        0,
      );
      expect(second.budget.countedUsd).toBeCloseTo(spent / 1e6, 6);
    },
  );

  test(
    'continues after a stop from outside, without a line twice',
    { tags: ['long'] },
    async () => {
      using folder = newFolder();
      const asked = words(folder.path, ...fewest);
      const stop = new AbortController();
      const { report: stopped } = await evaluateHere(asked, {
        signal: stop.signal,
        onSay: (line) => (line.endsWith(': complete') ? stop.abort() : undefined),
      });
      expect(stopped.ended).toBe('interrupted');
      expect(stopped.missing.length).toBeGreaterThan(0);
      const { report: second } = await evaluateHere(asked);
      expect(second.missing).toEqual([]);
      for (const file of ['answers', 'judgments']) {
        const keys = linesIn(folder.path, file).map(({ key }) => key);
        expect(new Set(keys).size).toBe(keys.length);
      }
    },
  );

  test('makes other answers for another seed, strategy or truth', async () => {
    using folder = newFolder();
    const asked = words(folder.path, '--cases', 'bakery-second-shop');
    await evaluateHere(asked);
    for (const [index, more] of [
      ['--seed', '2'],
      ['--strategy', 'fast'],
      ['--plant', 'none'],
    ].entries()) {
      await evaluateHere([...asked, ...more]);
      expect(linesIn(folder.path, 'answers')).toHaveLength((index + 2) * conditions.length);
    }
  });
});

describe('a failure', () => {
  test(
    'of a judge that refuses leaves no case to compare, and is tried again only when that is asked for',
    { tags: ['long'] },
    async () => {
      using folder = newFolder();
      const asked = words(folder.path, ...fewest);
      const { report: refused } = await evaluateHere(asked, {
        change: (plan) => ({ ...plan, judging: refusing(plan.judging, plan) }),
      });
      expect(refused.figures.completeCases).toBe(0);
      expect(refused.refusals).toEqual({ answers: 0, judgments: 5 * 12 });
      expect(refused.figures.comparisons.every(({ winRate }) => winRate.mean === null)).toBe(true);
      expect(reportMarkdown(refused)).toContain('refused by a model: 0 answers, 60 judgments');
      expect((await evaluateHere(asked)).report.missing).toHaveLength(60);
      const retried = await evaluateHere([...asked, '--retry-failed']);
      expect(retried.report.missing).toEqual([]);
    },
  );

  test('of one condition keeps its cases out of every comparison', async () => {
    using folder = newFolder();
    const { report: refused } = await evaluateHere(words(folder.path, ...fewest), {
      change: (plan) => ({
        ...plan,
        registryFor: (condition) =>
          condition === 'strongest'
            ? refusingQuestion(plan.registryFor(condition), plan.cases[0]?.evaluated.question ?? '')
            : plan.registryFor(condition),
      }),
    });
    expect(refused.figures.completeCases).toBe(4);
    expect(refused.missing).toEqual([
      {
        kind: 'answer',
        caseId: refused.perCase[0]?.caseId,
        what: 'answer of strongest',
        why: 'refusal',
      },
    ]);
    expect(refused.refusals.answers).toBe(1);
    const judgments = linesIn(folder.path, 'judgments');
    expect(judgments).toHaveLength(4 * 24);
    expect(judgments.every(({ caseId }) => caseId !== refused.perCase[0]?.caseId)).toBe(true);
  });
});

/** One of the judges refuses. */
function refusing(registry: ModelRegistry, { judges }: EvaluationPlan): ModelRegistry {
  const [refused] = judges;
  return replaced(registry, ({ model }) => model === refused?.offer.remoteId);
}

function refusingQuestion(registry: ModelRegistry, question: string): ModelRegistry {
  return replaced(registry, ({ prompt }) => prompt.includes(question));
}

function replaced(
  registry: ModelRegistry,
  refuses: (request: { model: string; prompt: string }) => boolean,
): ModelRegistry {
  return {
    ...registry,
    provider(name, simulated) {
      const provider = registry.provider(name, simulated);
      return (
        provider && {
          ...provider,
          async *call(request) {
            if (refuses(request)) throw new ModelFailure('refusal', 'no');
            yield* provider.call(request);
          },
        }
      );
    },
  };
}

function linesIn(folder: string, name: string): Record<string, unknown>[] {
  return readFileSync(join(folder, `${name}.ndjson`), 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}
