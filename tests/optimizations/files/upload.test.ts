import { once } from 'node:events';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { strToU8 } from 'fflate';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { optimizationLimits } from '#services/optimizations/contract/requests.ts';
import type { ReadFileReply } from '#services/optimizations/contract/requests.ts';
import { kindOf } from '#services/optimizations/files/kind.ts';
import type { Outcome, Unreadable } from '#services/optimizations/files/outcome.ts';
import { readFile } from '#services/optimizations/files/read.ts';
import { createFileReader } from '#services/optimizations/files/reader.ts';
import type { FileReader } from '#services/optimizations/files/reader.ts';
import { readUpload } from '#services/optimizations/files/upload.ts';
import { answerData, answerError, createRouter } from '#services/platform/http/http.ts';
import { Problem } from '#services/platform/problem.ts';
import { createHttpServer, listen } from '#services/platform/process/listen.ts';
import { createLog } from '#services/platform/process/log.ts';
import { createTestApp } from '#tests/support/app.ts';
import type { TestApp } from '#tests/support/app.ts';
import {
  archive,
  docx,
  endlessPdf,
  form,
  hugePdf,
  macroEnabled,
  paragraph,
  pdf,
  withPassword,
} from './made.ts';

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

async function outcomeOf(name: string, bytes: Uint8Array): Promise<Outcome> {
  return readFile(kindOf(name, Buffer.from(bytes)), Uint8Array.from(bytes));
}

const utf16 = Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from('Rent: 2.250 €', 'utf16le')]);
const guess = "The encoding wasn't clear. Check accents and special characters.";
const noText = "We found no text. If it's a scan, type or paste what matters.";
const table = `<w:tbl><w:tr>${['Rent', '2,250'].map((cell) => `<w:tc>${paragraph(cell)}</w:tc>`).join('')}</w:tr></w:tbl>`;

describe('what a file holds', () => {
  test.each<[string, string, Uint8Array, Partial<Extract<Outcome, { text: string }>>]>([
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
      { text: 'Fish & chips\nRent | 2,250 |', pagesRead: null, warnings: [] },
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
      { text: 'Rent is 2,250\n\nNo loans', pagesRead: 2, warnings: [] },
    ],
    ['a scan', 'a.pdf', pdf(['']), { text: '', warnings: [noText] }],
    [
      'a PDF of 1,000 pages',
      'a.pdf',
      pdf(Array.from({ length: 1_000 }, () => 'a')),
      { pagesRead: 200, warnings: ['Only the first 200 of 1,000 pages were read.'] },
    ],
    [
      'a text that is too long',
      'a.txt',
      Buffer.alloc(1_000_000, 'word '),
      { text: 'word '.repeat(8000), warnings: ['Only the first 40,000 characters were kept.'] },
    ],
    ['an empty text', 'a.txt', Buffer.alloc(0), { text: '', warnings: [noText] }],
  ])('%s is read', async (_what, name, bytes, expected) => {
    expect(await outcomeOf(name, bytes)).toMatchObject(expected);
  });

  test.each<[string, string, Uint8Array, ReadFileReply]>([
    [
      'a text with a long name',
      `${'long '.repeat(40)}.txt`,
      Buffer.from('Rent:\t2,250'),
      {
        name: `${'long '.repeat(40).slice(0, optimizationLimits.fileName - 5)}….txt`,
        text: 'Rent:\t2,250',
        pages_read: null,
        warnings: [],
      },
    ],
    [
      'a PDF with a mark in its name',
      'a\u202E b.pdf',
      pdf(['Rent is 2,250']),
      { name: 'a b.pdf', text: 'Rent is 2,250', pages_read: 1, warnings: [] },
    ],
  ])('%s is read over the route', async (_what, name, bytes, expected) => {
    const sent = await form(name, bytes);
    const asked = { method: 'POST', token, ...sent };
    expect(await app.data('/optimizations/files', asked)).toEqual(expected);
  });
});

describe('a file that is not read', () => {
  const huge = (text: string) => docx(`<w:p>${text}</w:p>`);
  const entities = `<!DOCTYPE a [<!ENTITY a "${'a'.repeat(1000)}">]><a>${'&a;'.repeat(1000)}</a>`;
  test.each<[string, string, Uint8Array, string, string]>([
    ['an unknown kind', 'a.exe', Buffer.from('MZ'), 'file-not-accepted', 'Choose a text'],
    ['a name without an ending', 'a', Buffer.from('x'), 'file-not-accepted', 'Choose a text'],
    ['a file with macros', 'a.docm', docx(''), 'file-not-accepted', 'macros'],
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

  test.each<[string, string, Uint8Array, Unreadable]>([
    ['a file with macros under another name', 'a.docx', docx('', { type: macroEnabled }), 'macros'],
    ['an archive named .docx', 'a.docx', archive({ a: strToU8('x') }), 'not_word'],
    ['a text with zero bytes', 'a.txt', Buffer.from('a\0b'), 'not_text'],
    ['bytes named as text', 'a.txt', Buffer.alloc(2000, 'Af8C', 'base64'), 'not_text'],
    ['half a Word file', 'a.docx', docx(paragraph('x')).subarray(0, 200), 'damaged'],
    ['half a PDF', 'a.pdf', Buffer.from('%PDF-1.4\n1 0 obj<<'), 'damaged'],
    ['a PDF with a password', 'a.pdf', pdf(['x'], withPassword), 'protected'],
    [
      'a Word file with entities',
      'a.docx',
      docx('', { parts: { 'word/document.xml': strToU8(entities) } }),
      'damaged',
    ],
  ])('%s is unreadable', async (_what, name, bytes, unreadable) => {
    expect(await outcomeOf(name, bytes)).toEqual({ unreadable });
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

describe('the queue of files', () => {
  const logged: string[] = [];
  const log = createLog({
    level: 'warn',
    process: 'test',
    destination: { write: (line) => void logged.push(line) },
  });
  const text = Buffer.from('Still here');
  const short = Buffer.from(pdf(['Still here']));
  const here = { status: 'fulfilled', value: { text: 'Still here' } };
  const refused = (code: string) => ({ status: 'rejected', reason: { code } });
  const { signal } = new AbortController();

  test('a file that takes too long is refused', async () => {
    const reader = createFileReader({ log, fileMs: 500 });
    const reading = reader.read('pdf', endlessPdf(), { userId: 'ann', signal });
    await expect(reading).rejects.toMatchObject({ code: 'file-unreadable' });
    expect(logged.join('')).toContain('A file ended its reader');
    reader.close();
  });

  // Elsewhere only the heap is bounded, and this file lies outside of it.
  test.runIf(process.platform === 'linux')(
    'a file that fills the memory stops no other file',
    { tags: ['long'] },
    async () => {
      const reader = createFileReader({ log, fileMs: 60_000 });
      const settled = await Promise.allSettled([
        reader.read('pdf', hugePdf(), { userId: 'ann', signal }),
        reader.read('pdf', short, { userId: 'ben', signal }),
      ]);
      expect(settled).toMatchObject([refused('file-unreadable'), here]);
      reader.close();
    },
  );

  test('a user has one place in the queue, which is full after five users', async () => {
    const reader = createFileReader({ log });
    const users = ['ann', 'ann', 'ben', 'cat', 'dan', 'eve', 'fay'];
    const reads = users.map(async (userId) => reader.read('pdf', endlessPdf(), { userId, signal }));
    reader.close();
    const codes = (await Promise.allSettled(reads)).map(
      (read) => read.status === 'rejected' && (read.reason as { code: unknown }).code,
    );
    const [aborted, busy] = ['aborted', 'busy'];
    expect(codes).toEqual([aborted, busy, aborted, aborted, aborted, aborted, busy]);
  });

  test('a text or CSV file is read while PDFs fill their queue', async () => {
    const reader = createFileReader({ log, fileMs: 600_000 });
    const slow = ['ann', 'ben', 'cat', 'dan', 'eve'].map(async (userId) =>
      reader.read('pdf', endlessPdf(), { userId, signal }),
    );
    for (const kind of ['text', 'csv'] as const)
      expect((await reader.read(kind, text, { userId: 'fay', signal })).text).toBe('Still here');
    reader.close();
    const ended = Array.from(slow, () => refused('aborted'));
    expect(await Promise.allSettled(slow)).toMatchObject(ended);
  });

  test('an abandoned upload leaves the queue, whether it is read or waits', async () => {
    const reader = createFileReader({ log, fileMs: 600_000 });
    const gone = new AbortController();
    const abandoned = ['ann', 'ben'].map(async (userId) =>
      reader.read('pdf', endlessPdf(), { userId, signal: gone.signal }),
    );
    const next = reader.read('pdf', short, { userId: 'cat', signal });
    // The first process has started by then.
    await sleep(100);
    gone.abort();
    expect(await Promise.allSettled([...abandoned, next])).toMatchObject([
      refused('aborted'),
      refused('aborted'),
      here,
    ]);
    // Its user has a place again.
    const again = await reader.read('pdf', short, { userId: 'ann', signal });
    expect(again.text).toBe('Still here');
    reader.close();
  });

  test('an upload is no longer wanted once its connection is cut', async () => {
    const asked = Promise.withResolvers<AbortSignal>();
    const reader: FileReader = {
      read: async (_kind, _bytes, { signal: left }) => {
        asked.resolve(left);
        await once(left, 'abort');
        throw new Problem('aborted', 'The request ended before its file was read.');
      },
      close: () => undefined,
    };
    const router = createRouter().post('/', async (context) =>
      answerData(context, await readUpload(context, 'ann', reader)),
    );
    router.onError((error, context) => answerError(error, context));
    const server = createHttpServer(router.fetch);
    onTestFinished(async () => void server.close());
    const url = await listen(server, { host: '127.0.0.1', port: 0 });
    const { raw, headers } = await form('a.txt', text);
    const gone = new AbortController();
    const upload = fetch(url, { method: 'POST', body: raw, headers, signal: gone.signal });
    const left = await asked.promise;
    gone.abort();
    await expect(upload).rejects.toThrow('aborted');
    await expect.poll(() => left.aborted).toBe(true);
  });
});
