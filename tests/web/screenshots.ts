/**
 * Draws every page at two widths in both themes, for the eye: `node tests/web/screenshots.ts <folder>`.
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { launchBrowser } from './browser.ts';
import { serveSite } from './site.ts';

const folder = process.argv[2] ?? 'tmp/screenshots';
const only = process.argv[3];
const paths = ['/', '/login', '/signup', '/terms', '/privacy', '/nowhere'];

await mkdir(folder, { recursive: true });
const site = await serveSite({ isLocal: true });
const browser = await launchBrowser();
for (const theme of ['light', 'dark'] as const) {
  for (const width of [390, 1440]) {
    const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme: theme });
    page.on('console', (message) => console.log(theme, width, message.type(), message.text()));
    page.on('pageerror', (error) => console.log(theme, width, 'error', error.message));
    for (const path of paths) {
      if (only !== undefined && only !== path) continue;
      await page.goto(`${site.origin}${path}`, { waitUntil: 'networkidle' });
      const name = path === '/' ? 'home' : path.slice(1);
      await page.screenshot({
        path: join(folder, `${name}-${width}-${theme}.png`),
        fullPage: true,
      });
    }
    await page.close();
  }
}
await browser.close();
await site.close();
