import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ExportReply } from '#services/identity/contract.ts';
import { optimizationLimits } from '#services/optimizations/contract/requests.ts';
import type { Estimate } from '#services/optimizations/contract/panel.ts';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import { runMarkdown } from '#services/optimizations/reading/markdown/run-markdown.ts';
import { loadCatalogue } from '#services/models/catalogue.ts';
import type { Respond } from '#services/sandbox/models/personas.ts';
import { createSimulator } from '#services/sandbox/models/simulator/respond.ts';
import { tracesOf } from '#tests/identity/erasure/traces.ts';
import type { Person } from '#tests/support/app.ts';
import { createTestCouncil } from '#tests/support/council.ts';
import type { TestCouncil } from '#tests/support/council.ts';
import { give } from '#tests/support/processes/service.ts';

const question = {
  challenge: 'Should I raise the price of my watercolor course?',
  strategy: 'fast',
};
const quoted = 'The landlord asks for $48,731 from the first of May';
const file = {
  name: 'lease.txt',
  text: `${'Nothing of note. '.repeat(600)}${quoted}. ${'The end. '.repeat(600)}Deposit: $91,207`,
};

/** Each answer quotes the file that it reads; the recommendation names a figure that no answer names. */
const prompts: { schema: string | null; prompt: string; system: string }[] = [];
const simulated = createSimulator(loadCatalogue(null).strategies);
const respond: Respond = (request) => {
  const { schemaName: schema, prompt, system } = request;
  prompts.push({ schema, prompt, system });
  const answer = simulated(request);
  const reply = JSON.parse(answer.text) as Record<string, unknown>;
  if (schema === 'opinion' && prompt.includes(quoted))
    reply['reasoning'] = [...(reply['reasoning'] as string[]).slice(0, 3), `${quoted}.`];
  if (schema === 'draft')
    reply['decision'] = `${String(reply['decision'])} The deposit is $91,207.`;
  return { ...answer, text: JSON.stringify(reply) };
};

let council: TestCouncil;
let person: Person;
beforeAll(async () => {
  council = await createTestCouncil({ respond });
  person = await council.signUp();
  await give(council, person.userId, 100);
});
afterAll(async () => council.close());

test('a recommendation may use the figures of a file, and each stage reads what it needs', async () => {
  prompts.length = 0;
  const run = await council.ask(person, { ...question, files: [file] });
  expect(run).toMatchObject({ status: 'completed' });
  expect([run.files, run.council.files]).toEqual([[file], [file]]);
  const failed = Object.values(run.council.rounds).flatMap(({ checks }) => checks?.failed ?? []);
  expect(failed).not.toContain('numbers');
  expect(run.result?.decision).toContain('$91,207');
  const blocksOf = (stage: string) =>
    prompts
      .filter(({ schema }) => schema === stage)
      .map(
        ({ prompt }) =>
          /\[begin (\w+) file\]\nName: lease\.txt\n\n([^]*?)\n\[end \1\]/.exec(prompt)?.[2],
      );
  for (const stage of ['opinion', 'draft', 'verification']) {
    expect(blocksOf(stage).length).toBeGreaterThan(0);
    expect(new Set(blocksOf(stage))).toEqual(new Set([file.text]));
  }
  expect(new Set(blocksOf('claim_ledger'))).toEqual(new Set([undefined]));
  for (const block of blocksOf('review')) {
    expect(block).toContain(quoted);
    expect(block!.length).toBeLessThan(4100);
  }
  expect(blocksOf('review').length).toBeGreaterThan(0);
});

test('a recommendation with a figure of no file fails the check of numbers', async () => {
  const run = await council.ask(person, question);
  expect(run.files).toEqual([]);
  const failed = Object.values(run.council.rounds).flatMap(({ checks }) => checks?.failed ?? []);
  expect(failed).toContain('numbers');
  expect(prompts.at(-1)?.prompt).not.toContain(' file]');
});

test('whatever a file holds is stored sealed, read as sent, exported and erased with its run', async () => {
  const { data, core, database } = council;
  const texts = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 300 });
  const files = fc.array(fc.record({ name: texts, text: texts }), { minLength: 1, maxLength: 5 });
  const canary = 'Canary of the lighthouse';
  await fc.assert(
    fc.asyncProperty(files, async (drawn) => {
      const sent = drawn.map(({ name, text }, index) => ({
        name: `${index} ${name}`.slice(0, 60).toWellFormed(),
        text: `${canary} ${text}`,
      }));
      const { token, userId } = await council.signUp();
      const run = await data<Optimization>('/optimizations', {
        token,
        body: { ...question, files: sent },
      });
      expect(run.files.length).toBe(sent.length);
      for (const { name, text } of run.files) {
        expect(name).not.toMatch(/[\n\p{Cc}\u202A-\u202E\u2066-\u2069]/u);
        expect(text.startsWith(canary)).toBe(true);
      }
      // Asked again, as the form does, it is the same question.
      const again = await data<Optimization>('/optimizations', {
        token,
        body: { ...question, files: run.files, retry_of: run.id },
      });
      expect(again.files).toEqual(run.files);
      const { tables, csv } = await data<ExportReply>('/users/me/export', { token });
      expect(tables['runs']?.map(({ files: exported }) => exported)).toEqual([
        run.files,
        run.files,
      ]);
      expect(csv['runs.csv']).toContain(canary);
      expect(await tracesOf(database.ownerPool, [canary])).toEqual([]);
      for (const { id } of [run, again]) await core.sealer.eraseKey(id);
      const erased = await data<Optimization>(`/optimizations/${run.id}`, { token });
      expect(erased).toMatchObject({ challenge: 'Deleted', files: [] });
      const left = await data<ExportReply>('/users/me/export', { token });
      expect(JSON.stringify(left)).not.toContain(canary);
      expect(userId).not.toBe('');
    }),
    { numRuns: 5 },
  );
});

test.each([
  ['more than five files', Array.from({ length: 6 }, () => ({ name: 'a', text: 'b' })), 'files'],
  ['a file without a name', [{ name: ' ', text: 'b' }], 'files.0.name'],
  ['a name of 121 characters', [{ name: 'a'.repeat(121), text: 'b' }], 'files.0.name'],
  ['a file without text', [{ name: 'a', text: '\u200B' }], 'files.0.text'],
  ['a text of 40,001 characters', [{ name: 'a', text: 'b'.repeat(40_001) }], 'files.0.text'],
  [
    'texts of 40,001 characters together',
    [
      { name: 'a', text: 'b'.repeat(40_000) },
      { name: 'c', text: 'd' },
    ],
    'files',
  ],
  ['an unknown field', [{ name: 'a', text: 'b', canary: 1 }], ''],
])('a question with %s is refused by name', async (_what, files, field) => {
  const response = await council.call('/optimizations', {
    token: person.token,
    body: { ...question, files },
  });
  const problem = (await response.json()) as { code: string; errors: { field: string }[] };
  expect([response.status, problem.code]).toEqual([400, 'validation']);
  expect(problem.errors.map((error) => error.field)).toEqual([field]);
  expect(JSON.stringify(problem)).not.toContain('canary');
});

test('the longest files fit into a request, and a request of more than 400 kB is refused', async () => {
  const { token } = person;
  const body = { ...question, files: [{ name: 'a', text: '漢'.repeat(40_000) }] };
  expect((await council.call('/optimizations', { token, body })).status).toBe(201);
  const bytes = (size: number) => {
    const json = Buffer.from(JSON.stringify(question));
    return Uint8Array.from(Buffer.concat([json, Buffer.alloc(size - json.length, ' ')]));
  };
  const headers = { 'content-type': 'application/json' };
  const send = async (path: string, size: number) =>
    (await council.call(path, { method: 'POST', token, raw: bytes(size), headers })).status;
  const most = optimizationLimits.bodyBytes;
  expect(await send('/optimizations', most)).toBe(201);
  expect(await send('/optimizations', most + 1)).toBe(413);
  expect(await send('/optimizations/estimate', most)).toBe(413);
});

test('an estimate counts the files', async () => {
  const costWith = async (files: number) => {
    const body = { strategy: 'fast', challengeText: 'Wait?', files_characters: files };
    const { estimate } = await council.data<{ estimate: Estimate }>('/optimizations/estimate', {
      token: person.token,
      body,
    });
    return estimate.cost ?? 0;
  };
  expect(await costWith(40_000)).toBeGreaterThan(await costWith(4000));
  expect(await costWith(4000)).toBeGreaterThan(await costWith(0));
});

test('the Markdown of a run lists its files by name', async () => {
  const body = { ...question, files: [{ name: '[costs](x).csv', text: 'Rent,2250' }] };
  const run = await council.data<Optimization>('/optimizations', { token: person.token, body });
  expect(runMarkdown(run)).toContain('**Files:** costs.csv');
});
