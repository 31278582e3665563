import { expect, test } from 'vitest';
import { challengeTypes } from '#services/optimizations/run/events.ts';
import { derivedId } from '#services/platform/ids.ts';
import { shippedRecipe } from '#services/recipes/shipped.ts';
import { nearestCase, preparedCases, standInFor } from '#services/sandbox/models/cases.ts';
import type { PreparedCase } from '#services/sandbox/models/cases.ts';
import { faultsOf } from './check-case.ts';

const cases = preparedCases();
const named = cases.map((each) => [each.case, each] as const);

test.each(named)('the case %s can be assembled in every way without a fault', (_name, prepared) => {
  expect(faultsOf(prepared)).toEqual([]);
});

test('every type of question has a case, and every case answers a shipped recipe', () => {
  const types = new Set(cases.map(({ question }) => question.type));
  expect([...types].toSorted()).toEqual([...challengeTypes].toSorted());
  for (const { recipe, question } of cases)
    expect(shippedRecipe(derivedId('rec', 'shipped', recipe))?.category).toBe(question.type);
});

const damages: readonly [string, (prepared: PreparedCase) => void, RegExp][] = [
  ['a placeholder', ({ claims }) => void (claims[0]!.why += ' {number}.'), /forbidden sign/],
  ['a doubled word', ({ claims }) => void (claims[0]!.unsure = 'Of the the first.'), /doubled/],
  ['an open quotation', ({ claims }) => void (claims[0]!.why = "It says 'no."), /unpaired/],
  [
    'a number from nowhere',
    ({ options }) => void (options[0]!.draft.decision = 'Take 98765.'),
    /98765/,
  ],
  [
    'a claim id from nowhere',
    ({ options }) => void options[1]!.fatal_flaw.claim_ids.push('x'),
    /no claim x/,
  ],
  ['a repeated sentence', ({ claims }) => void (claims[1]!.why = claims[0]!.why), /repeats/],
  [
    'steps out of order',
    ({ options }) => void (options[0]!.draft.next_steps[0]!.by_days = 999),
    /date order/,
  ],
  ['the first person', ({ claims }) => void (claims[0]!.says.risk = 'I doubt it.'), /first person/],
];

test.each(damages)('the check of a case finds %s', (_what, damage, fault) => {
  const damaged = structuredClone(cases.find(({ language }) => language === 'en')!);
  damage(damaged);
  expect(faultsOf(damaged).join('\n')).toMatch(fault);
});

test.each(named)('the own question of %s gets that case, and it is exact', (_name, prepared) => {
  const { type, challenge, context } = prepared.question;
  expect(nearestCase({ type, challenge, context })).toEqual({ case: prepared, exact: true });
  const spaced = { type, challenge: ` ${challenge.replace(/ /g, '\n')}`, context };
  expect(nearestCase(spaced).exact).toBe(true);
  expect(nearestCase({ type, challenge, context: '' })).toEqual({ case: prepared, exact: false });
});

const questions: readonly [string, string, string][] = [
  [
    'business_strategy',
    'My neighbor undercuts my price for office cleaning. What now?',
    'competitor-undercuts',
  ],
  [
    'business_strategy',
    'Should I charge my customers more than I have for three years?',
    'raise-prices',
  ],
  ['hiring', 'A second driver, or not?', 'first-salesperson'],
  ['other', '', 'stop-or-continue'],
  // cspell:disable
  ['business_strategy', 'Soll ich meine Preise für Hundefutter erhöhen?', 'raise-prices-de'],
  ['hiring', 'Soll ich jemanden für den Verkauf einstellen?', 'first-salesperson'],
  // cspell:enable
];

test.each(questions)('a question of type %s, "%s", gets the case %s', (type, challenge, name) => {
  const nearest = nearestCase({ type, challenge, context: '' });
  expect([nearest.case.case, nearest.exact]).toEqual([name, false]);
});

test('a stand-in names the question of its case, and a case that is gone names none', () => {
  const [{ case: id, question }] = cases as [PreparedCase];
  const { title, challenge, context } = question;
  expect(standInFor(id, { challenge: 'Another?', context: '' })).toEqual({
    title,
    question: { challenge, context },
    exact: false,
  });
  expect(standInFor(id, { challenge, context })?.exact).toBe(true);
  expect(standInFor(id, { challenge: null, context: null })?.exact).toBe(false);
  expect(standInFor('gone', { challenge, context })).toBeNull();
});
