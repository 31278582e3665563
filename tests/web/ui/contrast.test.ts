import { fileURLToPath } from 'node:url';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

/** The colour tokens, read from the style sheet itself. */
const style = readFileSync(fileURLToPath(import.meta.resolve('#web/style.css')), 'utf8');
const tokens = new Map(
  [...style.matchAll(/--color-([\w-]+): light-dark\((#\w{6}), (#\w{6})\)/g)].map(
    ([, name = '', light = '', dark = '']) => [name, { light, dark }],
  ),
);

const backgrounds = ['paper', 'surface', 'sunken'] as const;
const texts = [
  'ink',
  'ink-2',
  'ink-3',
  'accent',
  'accent-hover',
  'ok',
  'warn',
  'bad',
  'info',
  'strategic',
  'risk',
  'implementation',
] as const;

function colour(name: string, theme: 'light' | 'dark'): string {
  const token = tokens.get(name);
  if (!token) throw new Error(`There is no token ${name}`);
  return token[theme];
}

/** Relative luminance of a #rrggbb colour, as WCAG defines it. */
function luminance(hex: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const share = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(one: string, other: string): number {
  const [bright = 0, dim = 0] = [luminance(one), luminance(other)].toSorted((a, b) => b - a);
  return (bright + 0.05) / (dim + 0.05);
}

describe.each(['light', 'dark'] as const)('the colours of the %s theme', (theme) => {
  it.each(texts)('%s is readable on paper, surface and sunken (4.5:1)', (text) => {
    for (const background of backgrounds) {
      const ratio = contrast(colour(text, theme), colour(background, theme));
      expect(ratio, `${text} on ${background}`).toBeGreaterThanOrEqual(4.5);
    }
  });

  it('text on the accent is readable, also hovered, and so is the accent on its soft colour', () => {
    const pairs = [
      ['on-accent', 'accent'],
      ['on-accent', 'accent-hover'],
      ['accent', 'accent-soft'],
      ['ink', 'accent-soft'],
    ] as const;
    for (const [text, background] of pairs) {
      expect(contrast(colour(text, theme), colour(background, theme))).toBeGreaterThanOrEqual(4.5);
    }
  });

  it('the border of a control stands out from its surroundings (3:1)', () => {
    for (const background of backgrounds) {
      const ratio = contrast(colour('line-strong', theme), colour(background, theme));
      expect(ratio).toBeGreaterThanOrEqual(3);
    }
  });
});
