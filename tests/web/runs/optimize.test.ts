import { spendingFrozenSentence } from '#services/credits/contract.ts';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Optimization } from '#services/optimizations/contract/run.ts';
import { optimizationLimits } from '#services/optimizations/contract/requests.ts';
import { durationWords } from '#services/optimizations/reading/words/duration.ts';
import { ApiProblem } from '#web/api/api.ts';
import { suggestChallengeType } from '#web/features/optimize/question/challenge-type.ts';
import { draftFromText, draftToText } from '#web/features/optimize/question/draft.ts';
import {
  challengeTypeOf,
  checkFields,
  emptyFields,
  type Fields,
  fieldsOfRun,
} from '#web/features/optimize/question/fields.ts';
import { filesOf } from '#web/features/optimize/question/files.ts';
import { rowErrors, shortageOf, stillMissing } from '#web/features/optimize/form-state.ts';
import {
  addRow,
  editRow,
  moveRow,
  pasteRows,
  removeRow,
  restoreRow,
  type Rows,
  rowsOf,
  textsOf,
} from '#web/features/optimize/question/rows.ts';
import { type StartCalls, startRun } from '#web/features/optimize/start.ts';
import {
  counted,
  unavailableSentence,
  verdictSentence,
} from '#web/features/optimize/strategy-words.ts';
import { destinationSentence } from '#web/run/words.ts';

describe('the suggested challenge type', () => {
  it.each([
    ['Which channel should our next campaign use?', 'marketing'],
    ['Our warehouse is the bottleneck of every shipment.', 'operations'],
    ['How long is our runway if we take the loan?', 'finance'],
    ['Should the roadmap put the new feature before the beta?', 'product'],
    ['Half of our leads never become a deal.', 'sales'],
    ['Do we recruit a freelancer or hire an employee?', 'hiring'],
  ])('the type suggested for %j is %s', (text, type) => {
    expect(suggestChallengeType(text)).toBe(type);
  });

  it('no type is suggested for words that indicate none, or two equally', () => {
    expect(suggestChallengeType('')).toBeNull();
    expect(suggestChallengeType('Where should we be in three years?')).toBeNull();
    expect(suggestChallengeType('hire sell')).toBeNull();
  });

  it('the suggestion matches the beginnings of words, and some words only as a whole', () => {
    expect(suggestChallengeType('Our recruitment is slow')).toBe('hiring');
    expect(suggestChallengeType('a pleading, a syntax')).toBeNull();
    expect(suggestChallengeType('The leader will apply himself productively')).toBeNull();
    expect(suggestChallengeType('Do we hire a salesperson, or keep on selling?')).toBe('hiring');
  });

  it('the suggestion is followed until the user chooses', () => {
    const fields = { ...emptyFields, challenge: 'Which campaign?' };
    expect(challengeTypeOf(fields)).toBe('marketing');
    expect(challengeTypeOf({ ...fields, chosenType: 'other' })).toBe('other');
    expect(challengeTypeOf(emptyFields)).toBe('business_strategy');
  });
});

describe('the rows of objectives and constraints', () => {
  const rows = rowsOf(['one', 'two', 'three']);

  it('a list starts with one empty row', () => {
    expect(rowsOf([])).toEqual([{ id: 0, text: '' }]);
  });

  it('a row can be added after another, moved and removed', () => {
    const [added, id] = addRow(rows, 0, 'between');
    expect(textsOf(added)).toEqual(['one', 'between', 'two', 'three']);
    expect(textsOf(moveRow(added, id, 1))).toEqual(['one', 'two', 'between', 'three']);
    expect(textsOf(moveRow(rows, 0, -1))).toEqual(['one', 'two', 'three']);
    expect(textsOf(removeRow(rows, 1))).toEqual(['one', 'three']);
    expect(textsOf(restoreRow(removeRow(rows, 1), 1, 'two'))).toEqual(['one', 'two', 'three']);
  });

  it('pasted lines become rows without list markers', () => {
    const result = pasteRows(rows, 1, ' - first\r\n\r\n2) second\n• third ', { start: 3, end: 3 });
    expect(result && textsOf(result[0])).toEqual(['one', 'twofirst', 'second', 'third', 'three']);
  });

  it('text behind the cursor follows the last pasted line', () => {
    const result = pasteRows(rowsOf(['ab']), 0, 'x\ny', { start: 1, end: 1 });
    expect(result && textsOf(result[0])).toEqual(['ax', 'yb']);
  });

  it('a single pasted line is left to the browser', () => {
    expect(pasteRows(rows, 1, 'only one\n', { start: 0, end: 0 })).toBeNull();
  });

  it('a list always has at least one row, and ids are unique', () => {
    type Step = (rows: Rows) => Rows;
    const at = (all: Rows, index: number) => all[index % all.length]?.id ?? 0;
    const step: fc.Arbitrary<Step> = fc.oneof(
      fc.nat(30).map(
        (index): Step =>
          (all) =>
            addRow(all, at(all, index))[0],
      ),
      fc.nat(30).map(
        (index): Step =>
          (all) =>
            removeRow(all, at(all, index)),
      ),
      fc.nat(30).map(
        (index): Step =>
          (all) =>
            moveRow(all, at(all, index), 1),
      ),
      fc.nat(30).map(
        (index): Step =>
          (all) =>
            editRow(all, at(all, index), 'text'),
      ),
      fc.nat(30).map(
        (index): Step =>
          (all) =>
            restoreRow(all, index % all.length, 'back'),
      ),
      fc.tuple(fc.nat(30), fc.string()).map(
        ([index, text]): Step =>
          (all) =>
            pasteRows(all, at(all, index), text, { start: 0, end: 0 })?.[0] ?? all,
      ),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const all = steps.reduce((current, change) => change(current), rowsOf([]));
        return all.length >= 1 && new Set(all.map(({ id }) => id)).size === all.length;
      }),
    );
  });
});

const filled: Fields = {
  ...emptyFields,
  challenge: ' Should we raise our prices? ',
  objectives: rowsOf(['', 'Keep churn low', '  ']),
  strategy: 'balanced',
};

describe('what the form sends', () => {
  it('the request is trimmed, without empty rows, with the suggested type', () => {
    expect(checkFields(filled)).toEqual({
      ok: true,
      request: {
        challenge: 'Should we raise our prices?',
        context: '',
        objectives: ['Keep churn low'],
        constraints: [],
        files: [],
        strategy: 'balanced',
        challenge_type: 'business_strategy',
      },
    });
  });

  it('the request names the repeated run only while the question is the same and that run has ended', () => {
    const from = { id: 'opt_01j00000000000000000000000', challenge: filled.challenge, ended: true };
    const sent = (change: Partial<Fields>) => {
      const checked = checkFields({ ...filled, ...change });
      return checked.ok ? checked.request.retry_of : checked.errors;
    };
    expect(sent({ from })).toBe(from.id);
    expect(sent({ from, challenge: 'Something else?' })).toBeUndefined();
    expect(sent({ from: { ...from, ended: false } })).toBeUndefined();
  });

  it('a text that is too long is reported at its row, also after empty rows', () => {
    const long = 'x'.repeat(optimizationLimits.row + 1);
    const objectives = rowsOf(['', 'fine', '', long]);
    const checked = checkFields({ ...filled, objectives });
    expect([...rowErrors(objectives, 'objectives', checked)]).toEqual([
      [3, 'Each of the objectives can have up to 300 characters'],
    ]);
    expect(stillMissing({ ...filled, objectives }, null, checked)).toEqual([
      'Please fix the highlighted fields.',
    ]);
  });

  it('missing fields are named in page order', () => {
    expect(stillMissing(emptyFields, null, checkFields(emptyFields))).toEqual([
      'Describe your challenge.',
      'Choose a strategy.',
    ]);
    expect(stillMissing(filled, null, checkFields(filled))).toEqual([]);
  });

  it('the form starts with the fields of a run, but not with erased text', () => {
    const run = {
      id: 'opt_01j00000000000000000000000',
      challenge: 'Deleted',
      context: 'Twelve clients',
      objectives: ['Grow'],
      constraints: [],
      files: [{ name: 'costs.csv', text: 'Rent,2250' }],
      challenge_type: 'sales',
      strategy: 'fast',
      status: 'failed',
    } as Partial<Optimization> as Optimization;
    expect(fieldsOfRun(run)).toMatchObject({
      challenge: '',
      context: 'Twelve clients',
      chosenType: 'sales',
      strategy: 'fast',
      files: [{ id: 0, name: 'costs.csv', text: 'Rent,2250', warnings: [] }],
      from: { id: run.id, ended: true },
    });
  });
});

describe('the draft', () => {
  const text = fc.string({ maxLength: 60 });
  const fields: fc.Arbitrary<Fields> = fc.record({
    challenge: text,
    context: text,
    objectives: fc.array(text, { maxLength: 4 }).map(rowsOf),
    constraints: fc.array(text, { maxLength: 4 }).map(rowsOf),
    files: fc
      .array(fc.record({ name: text, text, warnings: fc.array(text, { maxLength: 2 }) }), {
        maxLength: 4,
      })
      .map(filesOf),
    chosenType: fc.constantFrom(null, 'marketing' as const),
    strategy: fc.constantFrom(null, 'ultra' as const),
    allowSimulated: fc.boolean(),
    from: fc.constant(null),
    recipe: fc.constantFrom(null, 'rec_00000000000000000000000001'),
  });

  it('a draft is restored as it was, without empty rows', () => {
    fc.assert(
      fc.property(fields, fc.boolean(), (written, hasAttempt) => {
        const attempt = hasAttempt
          ? { createKey: 'a', processKey: 'b', runId: null, catalogueVersion: null }
          : null;
        const back = draftFromText(draftToText({ fields: written, attempt }));
        expect(back?.attempt).toEqual(attempt);
        expect(back && checkFields(back.fields)).toEqual(checkFields(written));
        expect(back?.fields.challenge).toBe(written.challenge);
        expect(back?.fields.files).toEqual(written.files);
      }),
    );
  });

  it('an unreadable draft is ignored', () => {
    fc.assert(fc.property(fc.oneof(fc.json(), text), (stored) => draftFromText(stored) === null));
    expect(draftFromText(null)).toBeNull();
  });
});

describe('a shortage', () => {
  const strategy = { credits: 14 } as Parameters<typeof shortageOf>[0];
  const balance = (available_credits: number, debt_credits = 0, spending_frozen = false) =>
    ({ available_credits, debt_credits, spending_frozen }) as Parameters<typeof shortageOf>[1];
  const attempt = { createKey: 'a', processKey: 'b', runId: null, catalogueVersion: null };

  it('a shortage is the difference to the price, and a debt makes any balance short', () => {
    expect(shortageOf(strategy, balance(13), null)).toEqual({
      required: 14,
      balance: 13,
      shortfall: 1,
      debt: 0,
      frozen: false,
    });
    expect(shortageOf(strategy, balance(14), null)).toBeNull();
    expect(shortageOf(strategy, balance(100, 0, true), null)).toMatchObject({ frozen: true });
    expect(shortageOf(strategy, balance(100, 3), null)).toMatchObject({ shortfall: 0, debt: 3 });
  });

  it('an unknown balance is not short', () => {
    expect(shortageOf(strategy, undefined, null)).toBeNull();
  });

  it('a run whose credits may be held already is not blocked by the balance', () => {
    expect(shortageOf(strategy, balance(0), attempt)).not.toBeNull();
    expect(shortageOf(strategy, balance(0), { ...attempt, runId: 'opt_1' })).toBeNull();
  });
});

describe('starting', () => {
  const checked = checkFields(filled);
  if (!checked.ok) throw new Error('The fields of this test are not valid');
  const { request } = checked;
  const attempt = {
    createKey: 'create-1',
    processKey: 'process-1',
    runId: null,
    catalogueVersion: null,
  };
  const usage = (shortfall: number) => ({
    has_sufficient_credits: shortfall === 0,
    required_credits: 14,
    current_balance: 14 - shortfall,
    shortfall,
    refusal:
      shortfall === 0 ? null : { status: 402, code: 'insufficient-credits', message: 'Too few' },
  });
  const problem = (status: number, code: string, members: Record<string, unknown> = {}) =>
    new ApiProblem({ status, code, message: code, members });

  /** A server that keeps one run per idempotency key. */
  function server(faults: { create?: Error[]; process?: Error[]; price?: number } = {}) {
    const created = new Map<string, string>();
    const processed = new Map<string, number>();
    const seen: string[] = [];
    const calls: StartCalls = {
      checkUsage: () => {
        seen.push('check');
        return Promise.resolve(usage(0));
      },
      createRun: (_request, key) => {
        seen.push(`create ${key}`);
        const id = created.get(key) ?? `opt_${created.size + 1}`;
        created.set(key, id);
        const fault = faults.create?.shift();
        return fault === undefined
          ? Promise.resolve({ id, credits: { price: faults.price ?? 14 } })
          : Promise.reject(fault);
      },
      processRun: (id, key) => {
        seen.push(`process ${id} ${key}`);
        processed.set(id, 1);
        const fault = faults.process?.shift();
        return fault === undefined ? Promise.resolve({}) : Promise.reject(fault);
      },
      wait: () => Promise.resolve(),
    };
    return { calls, seen, created, processed };
  }

  it('a start checks the balance, creates, and processes', async () => {
    const { calls, seen } = server();
    const ids: string[] = [];
    const result = await startRun(
      { request, price: 14, attempt },
      (id) => void ids.push(id),
      calls,
    );
    expect(result).toEqual({ kind: 'started', id: 'opt_1' });
    expect(seen).toEqual(['check', 'create create-1', 'process opt_1 process-1']);
    expect(ids).toEqual(['opt_1']);
  });

  it.each([null, '2026-11-20.0123abcd'])(
    'every repeat of an attempt sends the version of its estimate: %s',
    async (catalogueVersion) => {
      const { calls } = server({ create: [problem(0, 'network')] });
      const sent: unknown[] = [];
      const createRun: StartCalls['createRun'] = (asked, key) => {
        sent.push(asked.catalogue_version);
        return calls.createRun(asked, key);
      };
      const agreed = { ...attempt, catalogueVersion };
      await startRun({ request, price: 14, attempt: agreed }, () => {}, { ...calls, createRun });
      const version = catalogueVersion ?? undefined;
      expect(sent).toEqual([version, version]);
    },
  );

  it('lost replies lead to one run', async () => {
    const lost = () => problem(0, 'network');
    const { calls, created, processed } = server({
      create: [lost(), lost()],
      process: [lost(), problem(409, 'in-progress'), problem(503, 'busy')],
    });
    const result = await startRun({ request, price: 14, attempt }, () => {}, calls);
    expect(result).toEqual({ kind: 'started', id: 'opt_1' });
    expect([created.size, processed.size]).toEqual([1, 1]);
  });

  it('a start gives up after some attempts, and a later one with the same keys finds the run', async () => {
    const faults = { process: Array.from({ length: 4 }, () => problem(0, 'network')) };
    const { calls, created } = server(faults);
    const start = () => startRun({ request, price: 14, attempt }, () => {}, calls);
    await expect(start()).rejects.toMatchObject({ code: 'network' });
    expect(await start()).toEqual({ kind: 'started', id: 'opt_1' });
    expect(created.size).toBe(1);
  });

  it('the balance is not checked again once the run exists, because its hold is missing from it', async () => {
    const { calls, seen } = server();
    await startRun(
      { request, price: 14, attempt: { ...attempt, runId: 'opt_1' } },
      () => {},
      calls,
    );
    expect(seen).not.toContain('check');
  });

  it('nothing is created when the credits do not suffice', async () => {
    const { calls, seen } = server();
    const poor = { ...calls, checkUsage: () => Promise.resolve(usage(4)) };
    expect(await startRun({ request, price: 14, attempt }, () => {}, poor)).toEqual({
      kind: 'insufficient',
      required: 14,
      balance: 10,
      shortfall: 4,
    });
    expect(seen).toEqual([]);
  });

  it('nothing is created for an account whose spending is frozen, and the reason is shown', async () => {
    const { calls, seen } = server();
    const frozen = { status: 403, code: 'spending-frozen', message: spendingFrozenSentence };
    const answer = { ...usage(0), has_sufficient_credits: false, refusal: frozen };
    const refused = { ...calls, checkUsage: () => Promise.resolve(answer) };
    await expect(
      startRun({ request, price: 14, attempt }, () => {}, refused),
    ).rejects.toMatchObject({ code: 'spending-frozen', message: spendingFrozenSentence });
    expect(seen).toEqual([]);
  });

  it('nothing is created for an account that owes credits, however many it has', async () => {
    const { calls, seen } = server();
    const debt = { status: 402, code: 'debt', message: 'Your account owes 6 credits' };
    const owing = { ...usage(0), has_sufficient_credits: false, refusal: debt };
    const indebted = { ...calls, checkUsage: () => Promise.resolve(owing) };
    expect(await startRun({ request, price: 14, attempt }, () => {}, indebted)).toMatchObject({
      kind: 'insufficient',
      shortfall: 0,
    });
    expect(seen).toEqual([]);
  });

  it('nothing is created when the start would be refused for another reason', async () => {
    const { calls, seen } = server();
    const refusal = { status: 403, code: 'monthly-limit', message: 'Bonus credits can pay for 5' };
    const limited = { ...usage(0), has_sufficient_credits: false, refusal };
    const start = startRun({ request, price: 14, attempt }, () => {}, {
      ...calls,
      checkUsage: () => Promise.resolve(limited),
    });
    await expect(start).rejects.toMatchObject(refusal);
    expect(seen).toEqual([]);
  });

  it('a refusal that comes with the hold is read with its figures', async () => {
    const figures = { required_credits: 14, current_balance: 3, shortfall: 11 };
    const { calls } = server({ process: [problem(402, 'insufficient-credits', figures)] });
    expect(await startRun({ request, price: 14, attempt }, () => {}, calls)).toEqual({
      kind: 'insufficient',
      required: 14,
      balance: 3,
      shortfall: 11,
    });
  });

  it('nothing is reserved at a price that the user did not accept', async () => {
    const { calls, processed } = server({ price: 15 });
    expect(await startRun({ request, price: 14, attempt }, () => {}, calls)).toEqual({
      kind: 'price-changed',
      price: 15,
      outdated: false,
    });
    expect(processed.size).toBe(0);
    const create = [problem(409, 'price-changed', { price: 17 })];
    const early = server({ create });
    expect(await startRun({ request, price: 14, attempt }, () => {}, early.calls)).toEqual({
      kind: 'price-changed',
      price: 17,
      outdated: true,
    });
    expect(early.processed.size).toBe(0);
    const late = server({ process: [problem(409, 'price-changed', { price: 16 })] });
    expect(await startRun({ request, price: 14, attempt }, () => {}, late.calls)).toEqual({
      kind: 'price-changed',
      price: 16,
      outdated: true,
    });
  });

  it('a run that an earlier attempt completed is opened', async () => {
    const { calls } = server({ process: [problem(409, 'concluded')] });
    expect(await startRun({ request, price: 14, attempt }, () => {}, calls)).toEqual({
      kind: 'started',
      id: 'opt_1',
    });
  });

  it.each([403, 400, 429])('a refusal with status %i is not repeated', async (status) => {
    const { calls, seen } = server({ create: [problem(status, 'refused')] });
    await expect(startRun({ request, price: 14, attempt }, () => {}, calls)).rejects.toMatchObject({
      status,
    });
    expect(seen).toEqual(['check', 'create create-1']);
  });
});

describe('the words of a strategy', () => {
  it('the summary names the providers that receive the text', () => {
    expect(destinationSentence({ providers: [{ name: 'OpenAI', simulated: true }] })).toContain(
      "isn't sent to any provider",
    );
    expect(
      destinationSentence({
        providers: [
          { name: 'OpenAI', simulated: false },
          { name: 'my-ollama', simulated: false },
          { name: 'Google', simulated: true },
        ],
      }),
    ).toBe(
      'Your question and its files are sent to OpenAI and my-ollama. ' +
        'The other models are simulated on this machine.',
    );
  });

  it('a model that sits several times is named once, with its number', () => {
    expect(counted(['Terra', 'Luna', 'Terra'])).toBe('2 × Terra, Luna');
  });

  it('a strategy says why it is unavailable', () => {
    const unavailable = 'No model is available.';
    expect(unavailableSentence({ unavailable })).toBe('Not available. No model is available.');
  });

  it.each([
    ['full', null],
    ['order_only', 'This strategy gives an order, never a clear winner.'],
    ['may_stay_open', 'Its reviews may leave open whether there is a clear winner.'],
  ] as const)('a panel whose verdict is %s says before payment: %s', (verdict, sentence) => {
    expect(verdictSentence({ verdict })).toBe(sentence);
  });

  it.each([
    [28, 41, 'about 30s (usually under 45s)'],
    [80, 95, 'about 80s (usually under 2\u00A0min)'],
    [118, 230, 'about 2\u00A0min (usually under 4)'],
    [118, 119, 'about 2\u00A0min'],
  ])('a duration of %d s, below %d in nine of ten runs, reads %s', (p50, p90, words) => {
    const duration = { p50, p90, runs: 20 };
    expect(durationWords({ duration, at_most_seconds: 960 })).toBe(words);
  });

  it.each([
    [480, 'at most 8\u00A0min, not yet measured here'],
    [10_800, 'at most 180\u00A0min, not yet measured here'],
  ])('a run that ends after %d s and was not measured reads %s', (most, words) => {
    expect(durationWords({ duration: null, at_most_seconds: most })).toBe(words);
  });
});
