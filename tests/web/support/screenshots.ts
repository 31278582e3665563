/**
 * Draws every public page at two widths in both themes: `node tests/web/support/screenshots.ts
 * <folder>`.
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { linkKinds } from '#services/identity/contract.ts';
import { launchBrowser } from './browser.ts';
import { settled, watchRequests } from './settled.ts';
import { serveSite } from './site.ts';

const folder = process.argv[2] ?? 'tmp/screenshots';
const only = process.argv[3];
const token = 'A'.repeat(43);
const paths = [
  '/',
  '/login',
  '/signup',
  '/forgot-password',
  '/reset-password',
  `/reset-password?reason=confirmed#${token}`,
  '/auth/verify-email',
  ...linkKinds.map((kind) => `/auth/link/${kind}#${token}`),
  '/auth/link/confirm',
  '/auth/confirm',
  '/auth/error?message=link-expired',
  '/#access_token=nothing',
  '/terms',
  '/privacy',
  '/method',
  '/about',
  '/contact',
  '/help',
  '/security',
  '/cookies',
  '/blog',
  '/careers',
  '/nowhere',
];

await mkdir(folder, { recursive: true });
const site = await serveSite({ isLocal: true });
const browser = await launchBrowser();
for (const theme of ['light', 'dark'] as const) {
  for (const width of [390, 1440]) {
    const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme: theme });
    watchRequests(page);
    page.on('console', (message) => console.log(theme, width, message.type(), message.text()));
    page.on('pageerror', (error) => console.log(theme, width, 'error', error.message));
    for (const path of paths) {
      if (only !== undefined && only !== path) continue;
      await page.goto('about:blank');
      await page.goto(`${site.origin}${path}`);
      await settled(page);
      const name =
        path.replace(token, 'token').replace(/\W+/g, '-').replace(/^-|-$/g, '') || 'home';
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
