import { expect, test } from 'vitest';
import { accountErasingEmail } from '#services/identity/links/emails.ts';

const head = { productName: 'Sevenfold', publicUrl: 'https://example.com' };

test('the email about a deletion says what stays in the books', () => {
  const words = accountErasingEmail(head).paragraphs.join(' ');
  expect(words).toContain('We keep records of amounts, without your name.');
});
