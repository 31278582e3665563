/**
 * Reduces the two typefaces to the characters the interface uses and writes each in two files to
 * `web/src/fonts`: one for every page, one for the characters that few pages need. Run by hand after a typeface package changes: `node web/subset-fonts.ts`.
 *
 * It also prints the figures for the fallback faces in `web/src/fonts/fonts.css`. A fallback is
 * scaled to our average glyph width, ascent and descent, so no line moves when the real face
 * arrives.
 */
import { copyFile, readFile, writeFile } from 'node:fs/promises';
import subsetFont, { type VariationAxes } from 'subset-font';

/** What English text of ours is made of. Only this part of a typeface is loaded ahead of the page. */
const basic = [range(0x20, 0x7e), '\u00a0\u00ad©é·×–—‘’“”•…€−→'].join('');
/** What people's names and texts add: the rest of Latin-1 and French, and rarer signs. */
const more = Array.from(`${range(0xa1, 0xff)}ŒœŸı‚„‹›™≈≤≥←↑↓`)
  .filter((character) => !basic.includes(character))
  .join('');

const faces = [
  {
    name: 'newsreader-500',
    source: import.meta
      .resolve('@fontsource-variable/newsreader/files/newsreader-latin-opsz-normal.woff2'),
    license: import.meta.resolve('@fontsource-variable/newsreader/LICENSE'),
    axes: { wght: 500, opsz: 32 },
    weights: [500],
  },
  {
    name: 'instrument-sans',
    source: import.meta
      .resolve('@fontsource-variable/instrument-sans/files/instrument-sans-latin-wght-normal.woff2'),
    license: import.meta.resolve('@fontsource-variable/instrument-sans/LICENSE'),
    axes: { wght: { min: 400, max: 700 } },
    weights: [400, 600],
  },
] as const;

/** Metrics of the local fallback fonts, in their own units per em. */
const fallbacks = [
  { name: 'Times New Roman', unitsPerEm: 2048, averageWidth: 832 },
  { name: 'Noto Serif', unitsPerEm: 1000, averageWidth: 481 },
  { name: 'DejaVu Serif', unitsPerEm: 2048, averageWidth: 1049 },
  { name: 'Arial', unitsPerEm: 2048, averageWidth: 913 },
  { name: 'Arial Bold', unitsPerEm: 2048, averageWidth: 978 },
  { name: 'Roboto', unitsPerEm: 2048, averageWidth: 911 },
  { name: 'DejaVu Sans', unitsPerEm: 2048, averageWidth: 1038 },
  { name: 'DejaVu Sans Bold', unitsPerEm: 2048, averageWidth: 1172 },
] as const;

/** How often each character occurs in English text, space included, in thousandths. */
const frequencies: Readonly<Record<string, number>> = {
  ' ': 180,
  e: 104,
  t: 74,
  a: 67,
  o: 62,
  i: 57,
  n: 57,
  s: 52,
  h: 50,
  r: 49,
  d: 35,
  l: 33,
  c: 23,
  u: 23,
  m: 20,
  w: 19,
  f: 18,
  g: 16,
  y: 16,
  p: 15,
  b: 12,
  v: 8,
  k: 6,
  x: 1,
  j: 1,
  q: 1,
  z: 1,
};

for (const face of faces) {
  const original = await readFile(new URL(face.source));
  for (const [file, characters] of [
    [`${face.name}.woff2`, basic],
    [`${face.name}-more.woff2`, more],
  ] as const) {
    const cut = await subset(original, characters, face.axes, 'woff2');
    await writeFile(new URL(`./src/fonts/${file}`, import.meta.url), cut);
    console.log(`${file}: ${cut.length} bytes`);
  }
  await copyFile(
    new URL(face.license),
    new URL(`./src/fonts/${face.name}.LICENSE.txt`, import.meta.url),
  );
  for (const weight of face.weights) {
    const metrics = readMetrics(
      await subset(original, basic, { ...face.axes, wght: weight }, 'sfnt'),
    );
    console.log(`  at weight ${weight}, average letter ${metrics.averageWidth.toFixed(4)} em`);
    for (const fallback of fallbacks) {
      const scale = metrics.averageWidth / (fallback.averageWidth / fallback.unitsPerEm);
      console.log(
        `    as ${fallback.name}: size-adjust ${percent(scale)} ascent-override ${percent(metrics.ascent / scale)} descent-override ${percent(metrics.descent / scale)} line-gap-override ${percent(metrics.lineGap / scale)}`,
      );
    }
  }
}

console.log(`unicode-range of the second files: ${ranges(more)}`);

function subset(
  font: Buffer,
  characters: string,
  axes: VariationAxes,
  format: 'sfnt' | 'woff2',
): Promise<Buffer> {
  return subsetFont(font, characters, {
    targetFormat: format,
    variationAxes: axes,
    noHinting: true,
  });
}

function range(from: number, to: number): string {
  return Array.from({ length: to - from + 1 }, (_, index) =>
    String.fromCodePoint(from + index),
  ).join('');
}

/** `U+A1-A8, U+AA`, for the style sheet. */
function ranges(characters: string): string {
  const points = Array.from(characters, (one) => one.codePointAt(0) ?? 0).toSorted((a, b) => a - b);
  const hex = (point: number): string => point.toString(16).toUpperCase();
  const runs: [number, number][] = [];
  for (const point of points) {
    const last = runs.at(-1);
    if (last && last[1] === point - 1) last[1] = point;
    else runs.push([point, point]);
  }
  return runs
    .map(([from, to]) => (from === to ? `U+${hex(from)}` : `U+${hex(from)}-${hex(to)}`))
    .join(', ');
}

function percent(share: number): string {
  return `${(share * 100).toFixed(2)}%`;
}

/** Reads ascent, descent, line gap and average glyph width of an SFNT font, all in em. */
function readMetrics(font: Uint8Array): {
  ascent: number;
  descent: number;
  lineGap: number;
  averageWidth: number;
} {
  const view = new DataView(font.buffer, font.byteOffset, font.byteLength);
  const tables = new Map<string, number>();
  for (let index = 0; index < view.getUint16(4); index += 1) {
    const record = 12 + index * 16;
    const tag = String.fromCodePoint(...font.subarray(record, record + 4));
    tables.set(tag, view.getUint32(record + 8));
  }
  const table = (tag: string): number => {
    const offset = tables.get(tag);
    if (offset === undefined) throw new Error(`The font has no ${tag} table`);
    return offset;
  };
  const unitsPerEm = view.getUint16(table('head') + 18);
  const horizontal = table('hhea');
  const widthCount = view.getUint16(horizontal + 34);
  const widthOf = (glyph: number): number =>
    view.getUint16(table('hmtx') + Math.min(glyph, widthCount - 1) * 4);
  const glyphOf = glyphLookup(view, table('cmap'));
  let sum = 0;
  let weight = 0;
  for (const [letter, frequency] of Object.entries(frequencies)) {
    sum += widthOf(glyphOf(letter.codePointAt(0) ?? 0)) * frequency;
    weight += frequency;
  }
  return {
    ascent: view.getInt16(horizontal + 4) / unitsPerEm,
    descent: -view.getInt16(horizontal + 6) / unitsPerEm,
    lineGap: view.getInt16(horizontal + 8) / unitsPerEm,
    averageWidth: sum / weight / unitsPerEm,
  };
}

/** Reads the font's format 4 table, which covers every character we keep. */
function glyphLookup(view: DataView, cmap: number): (codePoint: number) => number {
  const count = view.getUint16(cmap + 2);
  for (let index = 0; index < count; index += 1) {
    const subtable = cmap + view.getUint32(cmap + 4 + index * 8 + 4);
    if (view.getUint16(subtable) !== 4) continue;
    const segments = view.getUint16(subtable + 6) / 2;
    return (codePoint) => {
      for (let segment = 0; segment < segments; segment += 1) {
        const end = view.getUint16(subtable + 14 + segment * 2);
        if (codePoint > end) continue;
        const start = view.getUint16(subtable + 16 + segments * 2 + segment * 2);
        if (codePoint < start) return 0;
        const delta = view.getUint16(subtable + 16 + segments * 4 + segment * 2);
        const rangeAt = subtable + 16 + segments * 6 + segment * 2;
        const rangeOffset = view.getUint16(rangeAt);
        if (rangeOffset === 0) return (codePoint + delta) & 0xffff;
        return view.getUint16(rangeAt + rangeOffset + (codePoint - start) * 2);
      }
      return 0;
    };
  }
  throw new Error('The font has no format 4 character map');
}
