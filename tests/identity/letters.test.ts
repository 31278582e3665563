import { expect, test } from 'vitest';
import { accountErasingLetter, magicLetter } from '#services/identity/letters.ts';

const head = { productName: 'Sevenfold', publicUrl: 'https://example.com' };

test('the email about a deletion says what stays in the books', () => {
  const words = accountErasingLetter(head).paragraphs.join(' ');
  expect(words).not.toContain('everything in it is being removed');
  expect(words).toContain('Amounts stay in our books without your name.');
});

test('a sign-in link does not claim to be the only way in, since a password is another', () => {
  expect(magicLetter(head, 'token').closing?.join(' ')).not.toContain('nobody gets in');
});
