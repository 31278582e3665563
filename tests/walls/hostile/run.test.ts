import { loadCatalogue } from '#services/models/catalogue.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import { runMarkdown } from '#services/optimizations/reading/markdown/run-markdown.ts';
import type { Respond } from '#services/sandbox/models/personas.ts';
import { createSimulator } from '#services/sandbox/models/simulator/respond.ts';
import { nowListeningTo } from '#tests/live/client.ts';
import type { TestCouncil } from '#tests/support/council.ts';
import { createTestCouncil } from '#tests/support/council.ts';
import { give } from '#tests/support/processes/service.ts';
import { filled, hiddenCharacters, reordering, textUnits } from './inputs.ts';

const respond = createSimulator(loadCatalogue(null).strategies);

/** Whole runs whose models send the inputs of `inputs.ts`, through the real SDKs. */

const hiding = hiddenCharacters.filter(({ input, left }) => input !== left);

/** Each text of a reply, with hidden characters inside its words. */
const hidingWords: Respond = (request) => {
  const { text, thinkingTokens } = respond(request);
  let at = 0;
  const hidden = (_key: string, value: unknown): unknown => {
    if (typeof value !== 'string' || !value.includes(' ')) return value;
    const { input } = hiding[(at += 1) % hiding.length] ?? { input: '' };
    return value.replace(/ /g, () => ` ${input.slice(3, -12)}`);
  };
  return { text: JSON.stringify(JSON.parse(text), hidden), thinkingTokens };
};

/** Opinions of 20,000 characters, each of their texts made of one unit; the other replies as usual. */
const opinions = { asked: 0 };
const endlessOpinions: Respond = (request) => {
  const answer = respond(request);
  if (request.schemaName !== 'opinion') return answer;
  opinions.asked += 1;
  let at = opinions.asked * 40;
  const endless = (_key: string, value: unknown): unknown => {
    if (typeof value !== 'string') return value;
    const { input } = textUnits[(at += 1) % textUnits.length] ?? { input: '' };
    return `${value} ${filled(input, 500)}`;
  };
  return { ...answer, text: JSON.stringify(JSON.parse(answer.text), endless) };
};

const councils: Record<string, TestCouncil> = {};
beforeAll(async () => {
  councils['words'] = await createTestCouncil({ respond: hidingWords });
  councils['endless'] = await createTestCouncil({ respond: endlessOpinions });
});
afterAll(async () => {
  await Promise.all(Object.values(councils).map(async (council) => council.close()));
});

const unseen =
  /[^\P{Cc}\n\t]|(?!\p{Join_Control}|\ufe0e|\ufe0f)\p{Default_Ignorable_Code_Point}|[A-Za-z]\p{Join_Control}/u;

/** Every text anywhere in a value. */
function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return value === null || typeof value !== 'object' ? [] : Object.values(value).flatMap(textsIn);
}

test.each([
  ['words', 'models that hide characters in their words'],
  ['endless', 'models that write endless hostile texts'],
])('%s: a run with %s completes, and nothing hidden is shown or exported', async (which) => {
  const council = councils[which];
  if (council === undefined) throw new Error('No council');
  const person = await council.signUp();
  await give(council, person.userId, 50);
  const listening = await nowListeningTo(council, {
    token: person.token,
    enough: ({ data }) => data['type'] === 'OptimizationCompleted',
    timeoutMs: 60_000,
  });
  const asked = { challenge: 'Should I open a second shop?', strategy: 'balanced' };
  const run: Optimization = await council.ask(person, asked);
  expect(run.status).toBe('completed');
  const heard = await listening.hearing;
  const exported = await council.call('/users/me/export', { token: person.token });
  expect(exported.status).toBe(200);
  const shown = [
    ...textsIn(run),
    ...textsIn(heard),
    // A CSV file begins with the mark of its encoding, and its lines end as spreadsheets expect.
    ...textsIn(await exported.json()).map((text) => text.replace(/^\ufeff|\r(?=\n)/g, '')),
    // The export itself breaks links with a word joiner.
    runMarkdown(run).replace(/(:|www|@)\u2060/gi, '$1'),
  ];
  expect(shown.filter((text) => reordering.test(text) || unseen.test(text))).toEqual([]);
  expect(council.logged.filter((line) => line.includes('"level":"error"'))).toEqual([]);
});
