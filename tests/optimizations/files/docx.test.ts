import { strToU8 } from 'fflate';
import { describe, expect, test } from 'vitest';
import { readDocx } from '#services/optimizations/files/docx.ts';
import { docx, paragraph } from './made.ts';

/** So long that the square of its length takes a minute. */
const long = (unit: string) => unit.repeat(1_000_000 / unit.length);

describe('a Word file that repeats itself', () => {
  test.each([
    '<!--',
    '<?',
    '<![CDATA[',
    '<a ',
    '<a "',
    "<a b='",
    '<a/',
    '<a:',
    '<',
    `<${long('a')}`,
    `<a b="${long('a')}`,
    '<Override ',
  ])('a part of nothing but %j is refused at once', (unit) => {
    const part = strToU8(unit.length > 10 ? unit : long(unit));
    for (const name of ['word/document.xml', '[Content_Types].xml']) {
      const file = docx('', { parts: { [name]: part } });
      const begun = performance.now();
      expect(readDocx(file)).toHaveProperty('unreadable');
      expect(performance.now() - begun).toBeLessThan(5000);
    }
  });

  test.each([' ', '   \t', '&', '&#', '\n '])(
    'a text of nothing but %j is read at once',
    (unit) => {
      const file = docx(paragraph(`Rent${long(unit)}x`));
      const begun = performance.now();
      expect(readDocx(file)).toHaveProperty('text');
      expect(performance.now() - begun).toBeLessThan(5000);
    },
  );
});

test('a Word file whose text lies behind an opening without an end is damaged', () => {
  for (const opening of ['<!-- ', '<? ', '<![CDATA[', '<w:p'])
    expect(readDocx(docx(`${paragraph('Rent')}${opening}`))).toEqual({ unreadable: 'damaged' });
  const whole = '<!-- a --><?b ?><ü:p a="x > y"><w:r><w:t><![CDATA[Fish <]]></w:t></w:r></ü:p>';
  expect(readDocx(docx(whole))).toMatchObject({ text: 'Fish <' });
});
