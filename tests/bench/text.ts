import { createElement } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import ReactMarkdown from 'react-markdown';
import { stepsOver } from '#tests/optimizations/prompts/text-steps.ts';
import { filled, textUnits } from '#tests/walls/hostile/inputs.ts';
import { milliseconds, printTable, ratio } from './report.ts';

const characters = 20_000;
const limitMs = 50;
/** Of the time for a quarter of the text: 4× grows with the length, 16× with its square. */
const growthLimit = 12;
const prose =
  'Raise the price by **five** percent, and see [what changes](https://example.com) in _May_.\n\n';

/**
 * Each step from a reply to its stored text, over the hostile text that takes it longest, beside the
 * Markdown parser of the pages over as much ordinary prose.
 */
export function benchText({ rounds }: { rounds: number }): void {
  const peer = fastest(rounds, () =>
    renderToStaticMarkup(createElement(ReactMarkdown, null, filled(prose, characters))),
  );
  const worst = new Map<string, { ms: number; unit: string; growth: number }>();
  for (const { name: unit, input } of textUnits) {
    const quarter = new Map(stepsOver(input, characters / 4));
    for (const [name, step] of stepsOver(input, characters)) {
      const ms = fastest(rounds, step);
      if (ms <= (worst.get(name)?.ms ?? 0)) continue;
      const shorter = quarter.get(name);
      const growth = shorter === undefined ? Number.NaN : ms / fastest(rounds, shorter);
      worst.set(name, { ms, unit, growth });
    }
  }
  printTable(`20,000 hostile characters; limit ${limitMs} ms and ${growthLimit}× of a quarter`, [
    ['', 'worst ms', 'of a quarter', 'of the parser', 'within', 'over'],
    ...[...worst].map(([name, { ms, unit, growth }]) => [
      name,
      milliseconds(ms),
      ratio(growth, 1),
      ratio(ms, peer),
      ms < limitMs && growth < growthLimit ? 'yes' : 'NO',
      unit,
    ]),
  ]);
  console.log(`The Markdown parser over ordinary prose: ${milliseconds(peer)} ms`);
}

function fastest(rounds: number, work: () => unknown): number {
  let least = Infinity;
  for (let round = 0; round <= rounds; round += 1) {
    const begun = performance.now();
    work();
    least = Math.min(least, performance.now() - begun);
  }
  return least;
}
