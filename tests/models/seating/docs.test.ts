import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { seat } from '#services/models/seating.ts';
import { catalogue, offersOf, settings, vendors } from './offers.ts';

const nothing = { vendors: [], openrouter: false, ollama: 0, endpoint: false };

test('the estimates in docs/models.md are those of the catalogue', () => {
  const columns = [
    offersOf({ ...nothing, vendors: [...vendors] }),
    ...vendors.map((vendor) => offersOf({ ...nothing, vendors: [vendor] })),
  ];
  const rows = catalogue.strategies.map((strategy) => {
    const dollars = columns.map((offers) => {
      const { estimate } = seat(strategy, offers, catalogue.modelOf, settings);
      return `$${((estimate ?? Number.NaN) / 1e6).toFixed(2)}`;
    });
    return `| ${[strategy.name, strategy.credits, ...dollars].join(' | ')} |`;
  });
  const page = readFileSync('docs/models.md', 'utf8');
  expect(page.split('\n').filter((line) => line.includes('$0.') || line.includes('$1.'))).toEqual(
    rows,
  );
});
