import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import sparticuz from '@sparticuz/chromium';
import { type Browser, chromium } from 'playwright-core';

/** Inside the package, so that it goes when the package goes. */
const unpacked = join(import.meta.dirname, '../../../node_modules/@sparticuz/chromium/unpacked');

/** Before the first file of a run, so that files which start side by side find it unpacked. */
export async function setup(): Promise<void> {
  await browserPath();
}

/** A browser for tests: the one in `CHROMIUM_PATH`, else the Chromium inside the npm package. */
export async function launchBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: await browserPath(),
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

/**
 * The package unpacks into the folder for temporary files and takes whatever lies there already for
 * whole, also what another process has just begun to write. Here it unpacks into a folder of its
 * own, which gets its name when it is whole.
 */
async function browserPath(): Promise<string> {
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
    // Another process was faster; theirs is as good.
    if (!existsSync(path)) throw error;
  }
  return path;
}
