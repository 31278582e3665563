import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type axe from 'axe-core';
import type { Page } from 'playwright-core';

const all = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

/** Half the size of `axe.source`, and every page has to read it. */
const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** The violations in the current window, each with its rule and markup. */
export async function findings(page: Page, options: axe.RunOptions = {}): Promise<string[]> {
  if (!(await page.evaluate(() => Reflect.has(globalThis, 'axe')))) await install(page);
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

/** Past `page.evaluate`, which takes three times as long for a text of this size. */
async function install(page: Page): Promise<void> {
  const session = await page.context().newCDPSession(page);
  const { exceptionDetails } = await session.send('Runtime.evaluate', { expression: source });
  if (exceptionDetails) throw new Error(`axe could not be installed: ${exceptionDetails.text}`);
  await session.detach();
}
