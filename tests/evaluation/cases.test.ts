import { expect, test } from 'vitest';
import { hashOfCase, loadCases, readCase, selectCases } from '#services/evaluation/cases.ts';
import { challengeTypes } from '#services/optimizations/run/events.ts';

const cases = loadCases();
const text = (change: object) => JSON.stringify({ ...cases[0], ...change });
const file = `${cases[0]?.id}.json`;

test('there are 40 cases, 5 of each type, each with an id and a question of its own', () => {
  expect(cases).toHaveLength(40);
  for (const type of challengeTypes)
    expect(cases.filter((each) => each.type === type)).toHaveLength(5);
  expect(new Set(cases.map(({ id }) => id)).size).toBe(40);
  expect(new Set(cases.map(({ question }) => question)).size).toBe(40);
});

test('a case of another shape is refused with its file and field', () => {
  expect(() => readCase(file, text({ more: 1 }))).toThrow(/more/);
  expect(() => readCase(file, text({ type: 'poetry' }))).toThrow(/^.*\.json: type: /);
  expect(() => readCase(file, text({ rubric: cases[0]?.rubric.slice(0, 4) }))).toThrow(/rubric/);
  expect(() => readCase(file, text({ traps: [] }))).toThrow(/traps/);
  expect(() => readCase(file, text({ objectives: ['x'.repeat(301)] }))).toThrow(/objectives\.0/);
  expect(() => readCase('other.json', text({}))).toThrow('must be the name of the file');
  expect(() => readCase(file, '{')).toThrow('is not valid JSON');
  const [one, ...rest] = cases[0]?.rubric ?? [];
  expect(() => readCase(file, text({ rubric: [one, one, ...rest].slice(0, 8) }))).toThrow(
    'names a criterion twice',
  );
});

test('cases are chosen by id and by type, and an unknown word is refused', () => {
  expect(selectCases(cases, 'all')).toHaveLength(40);
  expect(selectCases(cases, 'finance').every(({ type }) => type === 'finance')).toBe(true);
  const [first] = cases;
  expect(selectCases(cases, `${first?.id}, hiring`).map(({ id }) => id)).toContain(first?.id);
  expect(() => selectCases(cases, 'finance,nonsense')).toThrow('"nonsense" is no case');
});

test('a changed note keeps the hash of a case, because no model sees it', () => {
  const [one] = cases;
  if (one === undefined) throw new Error('There are no cases');
  expect(hashOfCase({ ...one, note: 'another' })).toBe(hashOfCase(one));
  expect(hashOfCase({ ...one, question: 'another' })).not.toBe(hashOfCase(one));
});
