import sparticuz from '@sparticuz/chromium';
import { type Browser, chromium } from 'playwright-core';

/** A browser for tests: the one in `CHROMIUM_PATH`, else the Chromium inside the npm package. */
export async function launchBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: process.env['CHROMIUM_PATH'] ?? (await sparticuz.executablePath()),
    args: [
      '--no-sandbox',
      '--headless',
      '--disable-gpu',
      // Without it letters snap to whole pixels, which no screen of a person does.
      '--font-render-hinting=none',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
}
