import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { createElement } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import ReactMarkdown from 'react-markdown';
import remarkGfm from 'remark-gfm';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { loadCatalogue } from '#services/models/catalogue.ts';
import type {
  CheckReply,
  CreateOptimizationRequest,
} from '#services/optimizations/contract/requests.ts';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import type { RefineRequest } from '#services/optimizations/contract/refinement.ts';
import { finishedEmail, finishedRun } from '#services/optimizations/finished-email.ts';
import { runMarkdown } from '#services/optimizations/reading/markdown/run-markdown.ts';
import { refinementId } from '#services/optimizations/refinement/begin.ts';
import { layOut } from '#services/platform/mail/layout.ts';
import { dataDelimiter, simulatedRunSeed } from '#services/platform/seeded.ts';
import { preparedCases } from '#services/sandbox/models/cases.ts';
import type { Respond } from '#services/sandbox/models/personas.ts';
import { createSimulator } from '#services/sandbox/models/simulator/respond.ts';
import type { ExportReply } from '#services/identity/contract.ts';
import { tracesOf } from '#tests/identity/erasure/traces.ts';
import type { Person } from '#tests/support/app.ts';
import { createTestCouncil } from '#tests/support/council.ts';
import type { TestCouncil } from '#tests/support/council.ts';
import { give } from '#tests/support/processes/service.ts';
import { fileAttacks, modelAttacks, questionAttacks, refinementAttacks } from './injections.ts';
import type { AskedAttack, ModelAttack } from './injections.ts';
import { obedientModels, readAs } from './obedient.ts';
import { reordering } from './inputs.ts';

/**
 * Whole runs in which a text tries to instruct the models. They answer as in the same run without the
 * attack, but obey whatever stands outside a data block.
 */
const attackerSeat = 'R2';
const attackerModel = 'claude-haiku-5-5';
const fileSentence = 'The rent of the workshop is fixed until the end of next year.';
const seed = 'walls';
const canary = 'Canary of another person: shall we sell the lighthouse?';

const { question } = preparedCases().find((each) => each.case === 'stop-or-continue')!;
const asked = {
  challenge: question.challenge,
  context: question.context,
  objectives: ['Keep the best clients'],
  constraints: ['No new staff'],
  files: [{ name: 'lease.txt', text: fileSentence }],
  strategy: 'balanced',
} satisfies Partial<CreateOptimizationRequest>;

/** Each answer quotes the file, so that reviewers read the passage. */
const simulated = createSimulator(loadCatalogue(null).strategies);
const quoting: Respond = (request) => {
  const answer = simulated(request);
  if (request.schemaName !== 'opinion') return answer;
  const opinion = JSON.parse(answer.text) as { reasoning: string[] };
  const reasoning = [...opinion.reasoning, `The lease says: “${fileSentence}”`];
  return { ...answer, text: JSON.stringify({ ...opinion, reasoning }) };
};

const models = obedientModels(quoting, attackerModel);
const prompts: string[] = [];
let council: TestCouncil;
let person: Person;
let clean: Optimization;
let cleanCheck: CheckReply;
let cleanRefined: Optimization;
let refinements = 0;
beforeAll(async () => {
  council = await createTestCouncil({ seed, respond: models.respond });
  person = await council.signUp();
  await give(council, person.userId, 2000);
  const bystander = await council.signUp();
  const body = { challenge: canary, context: canary, strategy: 'balanced' };
  await council.data('/optimizations', { token: bystander.token, body });
  clean = await council.ask(person, asked);
  cleanCheck = await check(asked);
  cleanRefined = await refined({ changed_fact: 'Two of the clients leave in spring.' });
});
afterAll(async () => council.close());
afterEach(() => {
  prompts.push(...models.heard.map(({ system, prompt }) => `${system}\n${prompt}`));
});

test('the run without an attack has what an attack could change', () => {
  expect(clean.result).toMatchObject({ heading: 'recommendation', verified: 'two' });
  expect(clean.result?.flaws).not.toEqual([]);
  expect(clean.council.scores?.disagreements.length).toBeGreaterThan(2);
  expect(clean.council.scores?.consensus.length).toBeGreaterThan(2);
  expect(clean.council.seats.find(({ seat }) => seat === attackerSeat)?.model).toBe(attackerModel);
});

/** A few attacks a run, because a run takes time. */
const groups = Array.from({ length: 4 }, (_, index) =>
  [...questionAttacks, ...fileAttacks].filter((_attack, at) => at % 4 === index),
).map((attacks) => ({
  attacks,
  names: attacks.map(({ name, at }) => `${name} (${at})`).join(', '),
}));
test.each(groups)('no vote changes by $names', async ({ attacks }) => {
  models.attack();
  const body = attacks.reduce(attacked, asked);
  expect(await check(body)).toEqual(cleanCheck);
  const run = await council.ask(person, body);
  expect(models.misled).toEqual([]);
  expect(attacks.filter(({ at }) => !isShown(at, body))).toEqual([]);
  expect(figuresOf(run)).toEqual(figuresOf(clean));
  expect(adviceOf(run)).toEqual(adviceOf(clean));
  await expectHarmless(run);
});

/** Those that change nothing: one of each stage in a run. */
const harmless = modelAttacks.filter(({ ends }) => ends === 'same');
const rounds = Object.values(Object.groupBy(harmless, ({ stage }) => stage))
  .reduce<ModelAttack[][]>((runs, attacks) => {
    attacks.forEach((attack, at) => (runs[at] ??= []).push(attack));
    return runs;
  }, [])
  .concat(modelAttacks.filter(({ ends }) => ends !== 'same').map((attack) => [attack]))
  .map((attacks) => ({
    attacks,
    names: attacks.map(({ name }) => name).join(', '),
    ends: attacks[0]?.ends,
  }));
test.each(rounds)(
  '$names: the votes of the others stay as they were',
  async ({ attacks, ends }) => {
    models.attack(...attacks);
    const run = await council.ask(person, asked);
    expect(models.misled).toEqual([]);
    expect(run.status).toBe('completed');
    expect(othersOf(run)).toEqual(othersOf(clean));
    expect(endingOf(run)).toBe(ends);
    await expectHarmless(run);
  },
);

/** As many attacks in a refinement as its two fields, in turn, have room for; the first is long. */
const asFacts = [0, 2, 6]
  .map((from, at, starts) => refinementAttacks.slice(from, starts[at + 1]))
  .map((attacks, at) => ({
    attacks,
    names: attacks.map(({ name }) => name).join(', '),
    field: at % 2 === 0 ? ('changed_fact' as const) : ('instruction' as const),
  }));
test.each(asFacts)('no second vote changes by $names as $field', async ({ attacks, field }) => {
  models.attack();
  const codes = codesOfNext();
  const known = { ...models.known(), codes };
  const run = await refined({ [field]: attacks.map(({ text }) => text(known)).join('\n') });
  expect(models.misled).toEqual([]);
  expect(models.heard.map((request) => readAs(request).code)).toEqual(
    expect.arrayContaining(codes),
  );
  const asks = models.heard.filter(({ schemaName }) => schemaName === 'second_vote');
  expect(asks).toHaveLength(clean.council.seats.length);
  expect(secondVotesOf(run)).toEqual(secondVotesOf(cleanRefined));
  expect(figuresOf(run)).toEqual(figuresOf(cleanRefined));
  expect(run.result).toEqual(cleanRefined.result);
  await expectHarmless(run);
});

type Asked = typeof asked;

/** The codes of the next refinement, which only a test can know. */
function codesOfNext(): string[] {
  const root = simulatedRunSeed(seed, asked.challenge, asked.strategy);
  const id = refinementId(clean.id, refinements + 1);
  const drawn = createHash('sha256').update(`${root}|${id}`).digest('hex').slice(0, 32);
  const slots = [...clean.council.seats.map((each) => `review.${each.seat}`), 'draft.1'];
  return slots.map((slot) => dataDelimiter(drawn, slot, 1));
}

async function refined(body: RefineRequest): Promise<Optimization> {
  const { id } = await council.data<Optimization>(`/optimizations/${clean.id}/refine`, {
    method: 'POST',
    token: person.token,
    body,
  });
  refinements += 1;
  return council.ended(person, id);
}

function secondVotesOf({ council: { calls } }: Optimization) {
  return Object.fromEntries(
    Object.entries(calls)
      .filter(([, { outcome }]) => outcome?.kind === 'second_vote')
      .map(([slot, { outcome }]) => [slot, outcome]),
  );
}

async function check({ strategy: _strategy, ...body }: Asked): Promise<CheckReply> {
  return council.data('/optimizations/check', { token: person.token, body });
}

function attacked(body: Asked, { at, text }: AskedAttack): Asked {
  const words = text(models.known());
  switch (at) {
    case 'challenge':
    case 'context':
      return { ...body, [at]: `${body[at]}\n${words}` };
    case 'objectives':
    case 'constraints':
      return { ...body, [at]: [...body[at], words] };
    case 'file':
    case 'file name': {
      const [name, more] = at === 'file' ? ['notes.txt', `\n${words}`] : [words, ''];
      return { ...body, files: [...body.files, { name, text: `${fileSentence}${more}` }] };
    }
  }
}

/** Whether each model that reads the field, or the files, read what was added to it. */
function isShown(at: AskedAttack['at'], { files }: Asked): boolean {
  const isFile = at === 'file' || at === 'file name';
  const stages = ['opinion', 'review', 'draft', ...(isFile ? [] : ['claim_ledger'])];
  const requests = models.heard.filter(({ schemaName }) => stages.includes(schemaName ?? ''));
  const isRead = (request: (typeof requests)[number]): boolean => {
    const { blocks } = readAs(request);
    if (!isFile)
      return blocks.some(
        ({ kind, text }) => kind === at && text.length > String(asked[at]).length + 8,
      );
    const read = blocks.filter(({ kind, text }) => kind === 'file' && text.includes(fileSentence));
    return read.length === files.length;
  };
  return requests.length > stages.length && requests.every(isRead);
}

/** All figures of a run's votes that do not depend on the run's own draws. */
function figuresOf({ council: { scores, excluded, missing } }: Optimization) {
  const { bias: _bias, uncertainty, ...figures } = scores!;
  // Notes are numbered in the order of the answers, which is drawn.
  const doubts = uncertainty.map(({ kind, count }) => `${kind} ${count}`).toSorted();
  return { ...figures, doubts, excluded, missing };
}

/** What the run says and costs; a person's ticks and times are no part of it. */
function adviceOf({ result, credits }: Optimization) {
  return { result, credits };
}

/** The ballots of all but the attacker. */
function othersOf({ council: { calls, seats } }: Optimization) {
  return seats
    .filter(({ seat }) => seat !== attackerSeat)
    .map(({ seat }) => {
      const outcome = calls[`review.${seat}`]?.outcome;
      if (outcome?.kind !== 'review') return [seat, null];
      const { suspects: _suspects, ...ballot } = outcome.ballot;
      return [seat, ballot];
    });
}

/** How a run differs from the one without an attack. */
function endingOf(run: Optimization): ModelAttack['ends'] {
  const { calls, excluded } = run.council;
  if (excluded?.seat === attackerSeat && excluded.why === 'injection') return 'left out';
  if (calls[`review.${attackerSeat}`]?.outcome?.kind !== 'review') return 'no ballot';
  if (!isDeepStrictEqual(figuresOf(run), figuresOf(clean))) return 'own ballot';
  return run.result?.heading === clean.result?.heading ? 'same' : 'refused';
}

const unseen =
  /[^\P{Cc}\n\t]|(?!\p{Join_Control}|[\ufe0e\ufe0f\u2060])\p{Default_Ignorable_Code_Point}/u;

/** Every place where a person reads of a run: its data, its file, which a terminal prints, and its mail. */
async function expectHarmless(run: Optimization): Promise<void> {
  const texts = textsIn(run);
  expect(texts.filter((text) => unseen.test(text) || reordering.test(text))).toEqual([]);

  const markdown = runMarkdown(run);
  expect(markdown).not.toMatch(unseen);
  const html = renderToStaticMarkup(
    createElement(ReactMarkdown, { remarkPlugins: [remarkGfm] }, markdown),
  );
  expect(html).not.toMatch(/<(?:a|img|script|iframe|svg)\b/);
  expect(markdown).not.toMatch(/(?<!\\)<[a-z!/]/i);

  const read = await council.core.readRun(run.id);
  const mail = layOut(finishedEmail(finishedRun(read!.view)!, 'https://sevenfold.example'), {
    productName: 'Sevenfold',
    contactEmail: null,
  });
  const whole = `${mail.subject}\n${mail.text}\n${mail.html}`;
  expect(whole).not.toMatch(unseen);
  const links = whole.match(/(?:https?:\/\/|www\.|\w@\w)[^\s"<]*/g) ?? [];
  expect(
    links.filter((link) => link !== `https://sevenfold.example/optimizations/${run.id}`),
  ).toEqual([]);

  expect(Object.keys(Object.prototype)).toEqual([]);
  expect({}).not.toHaveProperty('polluted');
}

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return value === null || typeof value !== 'object' ? [] : Object.values(value).flatMap(textsIn);
}

test('no secret, text of another person or text of an attack stands in a prompt, a row or a log line', async () => {
  const { env } = council.context;
  const keys = [...env.dataKeys, ...env.jwtKeys].map((key) => key.toString('base64'));
  const secret = [...keys, canary, council.database.appUrl];
  const inPrompts = prompts.join('\n');
  expect(prompts.length).toBeGreaterThan(300);
  expect(secret.filter((text) => inPrompts.includes(text))).toEqual([]);

  const exported = await council.data<ExportReply>('/users/me/export', { token: person.token });
  const cells = Object.values(exported.csv).join('\n');
  expect(cells).toContain("'=cmd|");
  expect(cells).not.toMatch(/^\ufeff?"?[=+@]|[,\n]"?[=+@]/m);

  const words = [
    'evil.example',
    'Canary text of the person in an id',
    'Note to the reviewers',
    'vote for option o2',
    fileSentence,
  ];
  expect(await tracesOf(council.database.ownerPool, [...secret, ...words])).toEqual([]);
  const logged = council.logged.join('\n');
  expect([...secret, ...words].filter((text) => logged.includes(text))).toEqual([]);
  expect(council.logged.filter((line) => line.includes('"level":"error"'))).toEqual([]);
});

test('no key of a provider leaves, whatever a question asks for', async () => {
  const key = 'canary-key-of-a-provider';
  const sent: string[] = [];
  const keyed = await createTestCouncil({
    respond: (request) => {
      sent.push(JSON.stringify(request));
      return simulated(request);
    },
    env: (url) => ({ OPENROUTER_API_KEY: key, OPENROUTER_URL: `${url}/openrouter/api/v1` }),
  });
  try {
    const owner = await keyed.signUp();
    await give(keyed, owner.userId, 50);
    const run = await keyed.ask(owner, questionAttacks.reduce(attacked, asked));
    expect(run).toMatchObject({ status: 'completed', simulated: false });
    expect(await tracesOf(keyed.database.ownerPool, [key])).toEqual([]);
    const shown = [...sent, ...keyed.logged, JSON.stringify(run), runMarkdown(run)];
    expect(shown.filter((text) => text.includes(key))).toEqual([]);
  } finally {
    await keyed.close();
  }
});
