import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { loadCatalogue } from '#services/models/catalogue.ts';
import { packages } from '#services/payments/catalogue.ts';
import { buildPages } from '#tests/web/support/site.ts';

/** The words of the page as sent, before any script has run. */
let words = '';

beforeAll(async () => {
  words = readFileSync(join(await buildPages(), 'index.html'), 'utf8')
    .replaceAll(/<style>[^]*?<\/style>/g, '')
    .replaceAll(/<!--.*?-->/g, '')
    .replaceAll(/<[^>]+>/g, ' ')
    .replaceAll(/\s+/g, ' ');
});

describe('the prices on the home page', () => {
  it('the home page names every strategy at its charged price, the cheapest first', () => {
    const charged = loadCatalogue(null)
      .strategies.toSorted((one, other) => one.credits - other.credits)
      .map(({ name, credits }) => `${name.toLowerCase()} ${credits}`);
    expect(words).toContain(`The price depends on the strategy: ${charged.join(', ')} credits`);
  });

  it.each(packages)('the home page names $name at its sale price', (item) => {
    const often = item.kind === 'monthly' ? ' a month' : ' once';
    const each = item.kind === 'monthly' ? ' each month' : '';
    expect(words).toContain(
      `${item.name} $${item.price_usd} ${often.trim()} ${item.credits} credits ${each.trim()}`.trim(),
    );
    expect(words).toContain(item.description);
    // Nothing measured it, so it waits for the operator.
    expect(words).not.toContain('Most Popular');
  });

  it('the prices are those of the specification', () => {
    expect(
      packages.map(({ name, price_cents, credits, kind }) => [name, price_cents, credits, kind]),
    ).toEqual([
      ['Opportunity Finder', 500, 10, 'one_time'],
      ['Side-Gig Builder', 2_500, 50, 'monthly'],
      ['Empire Builder', 15_000, 400, 'monthly'],
      ['Boost 20', 1_000, 20, 'one_time'],
      ['Boost 50', 2_500, 50, 'one_time'],
      ['Boost 125', 5_000, 125, 'one_time'],
    ]);
  });
});
