import { expect, test } from 'vitest';
import { accountErasingLetter } from '#services/identity/links/letters.ts';

const head = { productName: 'Sevenfold', publicUrl: 'https://example.com' };

test('the email about a deletion says what stays in the books', () => {
  const words = accountErasingLetter(head).paragraphs.join(' ');
  expect(words).toContain('Amounts stay in our books without your name.');
});
