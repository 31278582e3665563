import { strToU8 } from 'fflate';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { optimizationLimits } from '#services/optimizations/contract.ts';
import type { ReadFileReply } from '#services/optimizations/contract.ts';
import { createFileReader } from '#services/optimizations/files/reader.ts';
import { createLog } from '#services/platform/process/log.ts';
import { createTestApp } from '#tests/support/app.ts';
import type { TestApp } from '#tests/support/app.ts';
import { archive, docx, form, macroEnabled, paragraph, pdf, withPassword } from './made.ts';

let app: TestApp;
let token: string;
beforeAll(async () => {
  app = await createTestApp();
  ({ token } = await app.signUp());
});
afterAll(async () => app.close());

async function send(name: string, bytes: Uint8Array, field?: string): Promise<Response> {
  const sent = await form(name, bytes, field);
  return app.call('/optimizations/files', { method: 'POST', token, ...sent });
}

const utf16 = Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from('Rent: 2.250 €', 'utf16le')]);
const guess = "The encoding wasn't clear. Check accents and special characters.";
const noText = "We found no text. If it's a scan, type or paste what matters.";
const table = `<w:tbl><w:tr>${['Rent', '2,250'].map((cell) => `<w:tc>${paragraph(cell)}</w:tc>`).join('')}</w:tr></w:tbl>`;

describe('what a file holds', () => {
  test.each<[string, string, Uint8Array, Partial<ReadFileReply>]>([
    ['a text', 'a.txt', Buffer.from('Rent: 2,250\r\nNo loans'), { text: 'Rent: 2,250\nNo loans' }],
    ['a text in UTF-16', 'a.md', utf16, { text: 'Rent: 2.250 €', warnings: [] }],
    [
      'a text in Windows-1252',
      'a.txt',
      Buffer.from('Café \x80 5', 'latin1'),
      { text: 'Café € 5', warnings: [guess] },
    ],
    [
      'a text with marks that hide words',
      'a.txt',
      Buffer.from('pay\u202E now\u0007\u200B!'),
      { text: 'pay now!' },
    ],
    [
      'a table with formulas',
      'a.csv',
      Buffer.from('Item,Cost\nRent,"=HYPERLINK(""http://x"")"'),
      {
        text: 'Item,Cost\nRent,"=HYPERLINK(""http://x"")"',
        warnings: ["Formulas are kept as text and aren't calculated."],
      },
    ],
    [
      'a Word file',
      'a.docx',
      docx(`${paragraph('Fish &amp; chips')}${table}`),
      { text: 'Fish & chips\nRent | 2,250 |', pages_read: null, warnings: [] },
    ],
    [
      'a Word file with macros in it',
      'a.docx',
      docx(paragraph('Text'), { parts: { 'word/vbaProject.bin': new Uint8Array(9) } }),
      { text: 'Text', warnings: ['Macros were left out.'] },
    ],
    [
      'a PDF',
      'a.pdf',
      pdf(['Rent is 2,250', 'No loans']),
      { text: 'Rent is 2,250\n\nNo loans', pages_read: 2, warnings: [] },
    ],
    ['a scan', 'a.pdf', pdf(['']), { text: '', characters: 0, warnings: [noText] }],
    [
      'a PDF of 1,000 pages',
      'a.pdf',
      pdf(Array.from({ length: 1_000 }, () => 'a')),
      { pages_read: 200, warnings: ['Only the first 200 of 1,000 pages were read.'] },
    ],
    [
      'a text that is too long',
      'a.txt',
      Buffer.alloc(1_000_000, 'word '),
      { characters: 40_000, warnings: ['Only the first 40,000 characters were kept.'] },
    ],
    ['an empty text', 'a.txt', Buffer.alloc(0), { text: '', warnings: [noText] }],
    ['a long name', `${'long '.repeat(40)}.txt`, Buffer.from('x'), { text: 'x' }],
  ])('%s is read', async (_what, name, bytes, expected) => {
    const sent = await form(name, bytes);
    const read = await app.data<ReadFileReply>('/optimizations/files', {
      method: 'POST',
      token,
      ...sent,
    });
    expect(read).toMatchObject(expected);
    expect(read.characters).toBe(read.text.length);
    expect(read.name.length).toBeLessThanOrEqual(optimizationLimits.fileName);
    expect(read.name).toMatch(/\.(txt|md|csv|docx|pdf)$/);
  });
});

describe('a file that is not read', () => {
  const huge = (text: string) => docx(`<w:p>${text}</w:p>`);
  const entities = `<!DOCTYPE a [<!ENTITY a "${'a'.repeat(1000)}">]><a>${'&a;'.repeat(1000)}</a>`;
  test.each<[string, string, Uint8Array, string, string]>([
    ['an unknown kind', 'a.exe', Buffer.from('MZ'), 'file-not-accepted', 'Choose a text'],
    ['a name without an ending', 'a', Buffer.from('x'), 'file-not-accepted', 'Choose a text'],
    ['a file with macros', 'a.docm', docx(''), 'file-not-accepted', 'macros'],
    [
      'a file with macros under another name',
      'a.docx',
      docx('', { type: macroEnabled }),
      'file-unreadable',
      'macros',
    ],
    ['an old Word file', 'a.doc', Buffer.from('x'), 'file-not-accepted', 'Old Word'],
    [
      'a Word file with a password',
      'a.docx',
      Buffer.from('d0cf11e0a1b11ae1', 'hex'),
      'file-not-accepted',
      'password',
    ],
    ['a PDF named as text', 'a.txt', pdf(['x']), 'file-not-accepted', 'that of a PDF'],
    ['an archive named as a table', 'a.csv', docx(''), 'file-not-accepted', 'an archive'],
    ['a text named as a PDF', 'a.pdf', Buffer.from('x'), 'file-not-accepted', 'something else'],
    [
      'an archive named .docx',
      'a.docx',
      archive({ a: strToU8('x') }),
      'file-unreadable',
      'not a Word',
    ],
    ['a text with zero bytes', 'a.txt', Buffer.from('a\0b'), 'file-unreadable', 'not text'],
    [
      'bytes named as text',
      'a.txt',
      Buffer.alloc(2000, 'Af8C', 'base64'),
      'file-unreadable',
      'not text',
    ],
    [
      'half a Word file',
      'a.docx',
      docx(paragraph('x')).subarray(0, 200),
      'file-unreadable',
      'damaged',
    ],
    ['half a PDF', 'a.pdf', Buffer.from('%PDF-1.4\n1 0 obj<<'), 'file-unreadable', 'damaged'],
    ['a PDF with a password', 'a.pdf', pdf(['x'], withPassword), 'file-unreadable', 'password'],
    [
      'a Word file with entities',
      'a.docx',
      docx('', { parts: { 'word/document.xml': strToU8(entities) } }),
      'file-unreadable',
      'damaged',
    ],
    [
      'a bomb',
      'a.docx',
      huge('a'.repeat(60_000_000)),
      'file-unreadable',
      'too large or too complex',
    ],
  ])('%s is refused in words', async (_what, name, bytes, code, words) => {
    const response = await send(name, bytes);
    const problem = (await response.json()) as { code: string; message: string; errors: unknown };
    expect(problem.code).toBe(code);
    expect(problem.message).toContain(words);
    expect(problem.errors).toEqual([{ field: 'file', message: problem.message }]);
  });

  test('a form holds one file of at most 5 MB', async () => {
    const most = optimizationLimits.fileBytes;
    expect((await send('a.txt', Buffer.alloc(most, 'a'))).status).toBe(200);
    expect((await send('a.txt', Buffer.alloc(most + 1, 'a'))).status).toBe(413);
    expect((await send('a.txt', Buffer.alloc(2 * most, 'a'))).status).toBe(413);
    expect((await send('a.txt', Buffer.from('a'), 'picture')).status).toBe(400);
    const headers = { 'content-type': 'multipart/form-data; boundary=x' };
    const broken = { method: 'POST', token, raw: new Uint8Array(9), headers };
    expect((await app.call('/optimizations/files', broken)).status).toBe(400);
    const json = await app.call('/optimizations/files', { token, body: {} });
    expect(json.status).toBe(415);
  });
});

test('a file that stops its reader stops no other file', async () => {
  const logged: string[] = [];
  const log = createLog({
    level: 'warn',
    process: 'test',
    destination: { write: (line) => void logged.push(line) },
  });
  const reader = createFileReader({ log, fileMs: 3000 });
  // Each opening searches for an end that never comes.
  const endless = docx('<!--'.repeat(4_000_000));
  const [stopped, read] = await Promise.allSettled([
    reader.read('docx', endless),
    reader.read('text', Buffer.from('Still here')),
  ]);
  expect(stopped).toMatchObject({ status: 'rejected', reason: { code: 'file-unreadable' } });
  expect(read).toMatchObject({ status: 'fulfilled', value: { text: 'Still here' } });
  expect(logged.join('')).toContain('A file ended its reader');
  const many = Array.from({ length: 12 }, async () => reader.read('text', Buffer.from('x')));
  const refused = (await Promise.allSettled(many)).filter(({ status }) => status === 'rejected');
  expect(refused.length).toBeGreaterThan(0);
  for (const refusal of refused) expect(refusal).toMatchObject({ reason: { code: 'busy' } });
  reader.close();
});
