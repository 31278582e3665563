import { describe, expect, test } from 'vitest';
import { csvLine } from '#services/platform/csv.ts';
import { collectExport, exportDocument } from '#services/platform/export.ts';
import type { ExportPart } from '#services/platform/export.ts';

describe('a cell', () => {
  test.each([
    ['=1+1', "'=1+1"],
    ['+44 20', "'+44 20"],
    ['-14', "'-14"],
    ['@SUM(A1)', "'@SUM(A1)"],
    [' =1', "' =1"],
    ['＝1+1', "'＝1+1"],
    ['\t=1', `"'\t=1"`],
    ['\rx', `"'\rx"`],
    ['\nx', `"'\nx"`],
    ['=HYPERLINK("http://x","y")', `"'=HYPERLINK(""http://x"",""y"")"`],
    ["=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0"],
  ])('%j that a spreadsheet would compute is a text', (value, cell) => {
    expect(csvLine([value])).toBe(`${cell}\r\n`);
  });

  test.each([
    ['plain', 'plain'],
    ['a, b', '"a, b"'],
    ['a; b', '"a; b"'],
    ['say "so"', '"say ""so"""'],
    ['two\nlines', '"two\nlines"'],
    ['a = b', 'a = b'],
    [-14, '-14'],
    [0, '0'],
    [false, 'false'],
    [null, ''],
    [undefined, ''],
    [{ a: 1 }, '"{""a"":1}"'],
    [['=x'], '"[""=x""]"'],
  ])('the value %j is exported as %j', (value, cell) => {
    expect(csvLine([value])).toBe(`${cell}\r\n`);
  });
});

describe('a document', () => {
  const part: ExportPart = {
    tables: { things: ['id', 'text', 'at', 'bytes'], nothing: ['id'] },
    async *rows(userId) {
      yield ['things', { id: userId, text: 'Größe "7" \u2028 =1', extra: 'not named' }];
      yield ['things', { id: 2, text: '=1', at: new Date(0), bytes: Buffer.from('abc') }];
    },
  };

  async function documentOf(parts: readonly ExportPart[]): Promise<unknown> {
    const collected = await collectExport(parts, 'usr_1');
    const pieces = await Array.fromAsync(exportDocument(collected, new Date(0)));
    return JSON.parse(Buffer.concat(pieces).toString('utf8'));
  }

  test('a document holds each table as rows and as CSV, with every column in its place', async () => {
    expect(await documentOf([part])).toEqual({
      exported_at: '1970-01-01T00:00:00.000Z',
      tables: {
        things: [
          { id: 'usr_1', text: 'Größe "7" \u2028 =1', at: null, bytes: null },
          { id: 2, text: '=1', at: '1970-01-01T00:00:00.000Z', bytes: 'YWJj' },
        ],
        nothing: [],
      },
      csv: {
        'things.csv':
          '\uFEFFid,text,at,bytes\r\n' +
          'usr_1,"Größe ""7"" \u2028 =1",,\r\n' +
          "2,'=1,1970-01-01T00:00:00.000Z,YWJj\r\n",
        'nothing.csv': '\uFEFFid\r\n',
      },
    });
  });

  test('a table of many rows is kept compressed, and is whole in the document', async () => {
    const text = 'Rent or buy the workshop? '.repeat(100);
    const rows = Array.from({ length: 1_000 }, (_, id) => ({ id, text }));
    const many: ExportPart = {
      tables: { many: ['id', 'text'] },
      async *rows() {
        for (const row of rows) yield ['many', row];
      },
    };
    const packs = (await collectExport([many], 'usr_1')).get('many')?.packs ?? [];
    expect(packs.length).toBeGreaterThan(1);
    expect(packs.reduce((sum, { length }) => sum + length, 0)).toBeLessThan(260_000);
    expect(await documentOf([many])).toMatchObject({
      tables: { many: rows },
      csv: { 'many.csv': `\uFEFFid,text\r\n${rows.map(({ id }) => `${id},${text}\r\n`).join('')}` },
    });
  });

  test('a document may have no parts', async () => {
    expect(await documentOf([])).toEqual({
      exported_at: '1970-01-01T00:00:00.000Z',
      tables: {},
      csv: {},
    });
  });

  test('a document refuses a row of an undeclared table', async () => {
    const wrong: ExportPart = {
      tables: {},
      async *rows() {
        yield ['things', {}];
      },
    };
    await expect(documentOf([wrong])).rejects.toThrow('no table things');
  });
});
