import { fileURLToPath } from 'node:url';
import { readFileSync } from 'node:fs';
import * as v from 'valibot';
import { expect, test } from 'vitest';
import { isTooCommon } from '#services/identity/passwords/blocklist.ts';
import { NewPasswordForm } from '#services/identity/contract/forms.ts';

const file = readFileSync(
  fileURLToPath(import.meta.resolve('#services/identity/passwords/common-passwords.txt')),
  'utf8',
);
const [heading = '', ...rest] = file.split('\n\n');
const listed = rest.join('\n\n').trimEnd().split('\n');

const person = ['Ann Other', 'ann.other@lighthouse.example', 'Sevenfold'];

const satisfiesRule = (password: string) =>
  v.safeParse(NewPasswordForm, { password, confirmPassword: password }).success;

const capitalized = (word: string) => word.replace(/[a-z]/, (letter) => letter.toUpperCase());

test('the list says where it comes from and under which licence', () => {
  expect(heading).toContain('@zxcvbn-ts/language-common 4.1.3');
  expect(heading).toContain('MIT');
  expect(heading).toContain('Permission is hereby granted');
});

test('at least 10,000 passwords that satisfy our own rule are refused', () => {
  const likely = listed.flatMap((word) => [capitalized(word), `${capitalized(word)}1`]);
  const allowedByRule = [...new Set(likely)].filter(satisfiesRule);
  const refused = allowedByRule.filter((password) => isTooCommon(password, []));
  expect(refused.length).toBe(allowedByRule.length);
  expect(refused.length).toBeGreaterThanOrEqual(10_000);
  // Thousands of them are entries as they stand, but for their capital.
  const asListed = listed.map(capitalized).filter(satisfiesRule);
  expect(asListed.length).toBeGreaterThan(5_000);
});

test.each([
  'Password1',
  'P4ssw0rd!',
  'P@55w0rd2026!!',
  '123Password',
  '$unshine1',
  'Trustno1',
  'Qwerty123',
  'Zaq12wsx',
  'Abcabc123',
  'Hunter2Hunter2',
  'ＰａｓｓｗＯｒｄ1a1'.normalize('NFKC').slice(0, 9),
])('%s is common in another dress', (password) => {
  expect(isTooCommon(password, [])).toBe(true);
});

test.each([
  ['the product', 'Sevenfold2026'],
  ['the product', 'S3venf0ld!1'],
  ['the product', 'Opportunity-1'],
  ['the product and a common word', 'Sevenfold-Dragon-1'],
  ['a name', 'AnnOther2024'],
  ['a name and next to nothing', 'Ann.Other.X9'],
  ['an address', 'Ann.other9'],
  ['the domain of an address', 'Lighthouse2024'],
])('%s is no password: %s', (_what, password) => {
  expect(isTooCommon(password, person)).toBe(true);
});

test.each([
  'Lantern-Quay-47',
  'CorrectHorseBattery9',
  'Xk9qT2mZ77aa',
  'Demo-aB3dE5fG-7',
  'Lighthouse-Keeper-Window-3',
  `${'Aa1-'.repeat(3)}mistral-pebble`,
])('%s is good enough, also for Ann Other', (password) => {
  expect(satisfiesRule(password)).toBe(true);
  expect(isTooCommon(password, person)).toBe(false);
});

test('two letters of a name do not spoil every word that holds them', () => {
  expect(isTooCommon('Albatross-Window-5', ['Al Ba', 'al@ba.example'])).toBe(false);
});
