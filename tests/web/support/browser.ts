import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import sparticuz from '@sparticuz/chromium';
import { type Browser, chromium } from 'playwright-core';

/** Inside the package, so that both are removed together. */
const unpacked = join(import.meta.dirname, '../../../node_modules/@sparticuz/chromium/unpacked');

/** Unpacks before the first file of a run, so that parallel files find it unpacked. */
export async function setup(): Promise<void> {
  await browserPath();
}

/** A choice that allows functional storage and nothing else; `consent.test.ts` fails when it is outdated. */
export const agreed = ['127.0.0.1', 'localhost'].map((domain) => ({
  name: 'sf_consent',
  value: '1.f',
  domain,
  path: '/',
  expires: -1,
  httpOnly: false,
  secure: false,
  sameSite: 'Lax' as const,
}));

/**
 * The browser in `CHROMIUM_PATH`, else the Chromium inside the npm package. Its visitors have chosen, so
 * no banner is in the way; a context with a `storageState` of its own begins without a choice.
 *
 * @param scriptFlags of V8; none where speed is measured
 */
export async function launchBrowser(scriptFlags = shortLived): Promise<Browser> {
  const browser = await launch(scriptFlags);
  const newContext = browser.newContext.bind(browser);
  browser.newContext = async (options) =>
    newContext({ storageState: { cookies: agreed, origins: [] }, ...options });
  return browser;
}

/** A page of a test lives for seconds. To optimize its code took a fifth of the browser's processor time. */
const shortLived = '--no-opt --no-maglev --max-lazy';

async function launch(scriptFlags: string): Promise<Browser> {
  return chromium.launch({
    executablePath: await browserPath(),
    args: [
      '--no-sandbox',
      '--headless',
      '--disable-gpu',
      // Without it glyphs snap to whole pixels, as on no real screen.
      '--font-render-hinting=none',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      `--js-flags=${scriptFlags}`,
    ],
  });
}

/**
 * The package unpacks into the folder for temporary files and trusts whatever is there, even a file
 * that another process is still writing. Here it unpacks into a folder of its own, which is renamed
 * when complete.
 */
export async function browserPath(): Promise<string> {
  const chosen = process.env['CHROMIUM_PATH'];
  if (chosen !== undefined && chosen !== '') return chosen;
  const path = join(unpacked, 'chromium');
  if (existsSync(path)) return path;
  const folder = `${unpacked}-${randomUUID()}`;
  mkdirSync(folder, { recursive: true });
  const before = process.env['TMPDIR'];
  process.env['TMPDIR'] = folder;
  try {
    await sparticuz.executablePath();
  } finally {
    if (before === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = before;
  }
  try {
    renameSync(folder, unpacked);
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    // Another process was faster; its copy is as good.
    if (!existsSync(path)) throw error;
  }
  return path;
}
