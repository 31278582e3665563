import axe from 'axe-core';
import type { Page } from 'playwright-core';

const all = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

/** The violations in the current window, each with its rule and markup. */
export async function findings(page: Page, options: axe.RunOptions = {}): Promise<string[]> {
  if (!(await page.evaluate(() => Reflect.has(globalThis, 'axe')))) await page.evaluate(axe.source);
  // Only violations are listed and only their markup leaves the page, which saves most of the time.
  return page.evaluate(
    async (chosen) => {
      const checker = Reflect.get(globalThis, 'axe') as typeof axe;
      const { violations } = await checker.run({ ...chosen, resultTypes: ['violations'] });
      return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
    },
    { runOnly: all, ...options },
  );
}
