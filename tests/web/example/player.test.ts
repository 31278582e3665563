import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { launchBrowser } from '#tests/web/support/browser.ts';
import { serveSite, type Site } from '#tests/web/support/site.ts';

let browser: Browser;
let site: Site;

beforeAll(async () => {
  [browser, site] = await Promise.all([launchBrowser(), serveSite()]);
});

afterAll(async () => {
  await browser.close();
  await site.close();
});

const player = (page: Page) => page.getByRole('region', { name: 'Recorded example' });
const decision = 'Move the monthly customers from $240 to $290';

describe('the recorded run', () => {
  it('the recorded run plays for a visitor, can be paused, and shows any phase at once', async () => {
    const page = await browser.newPage();
    // A run to watch is the recorded one.
    await page.goto(`${site.origin}/evolution-chamber`);
    await page.waitForURL('**/how-it-works');
    const shown = player(page);
    const phase = shown.locator('[aria-current=step]');
    await expect.poll(() => phase.textContent()).toContain('Parallel');
    await shown.getByRole('button', { name: 'Pause' }).click();
    expect(await shown.getByText(decision).isVisible()).toBe(false);
    await shown.getByRole('button', { name: 'Synthesis' }).click();
    await shown.getByText(decision).waitFor();
    expect(await shown.getByRole('img', { name: 'Recommended by 5 of 7' }).count()).toBe(1);
    await shown.getByRole('button', { name: 'Restart' }).click();
    await expect.poll(() => shown.getByText(decision).isVisible()).toBe(false);
    await page.close();
  });

  it('with reduced motion the recorded run is a still picture of its end', async () => {
    const page = await browser.newPage({ reducedMotion: 'reduce' });
    await page.goto(`${site.origin}/login`);
    await player(page).getByText(decision).waitFor();
    expect(await player(page).getByRole('button', { name: 'Restart' }).isVisible()).toBe(false);
    await player(page).getByRole('button', { name: 'Cross-Evaluation' }).click();
    await player(page).getByText('find a flaw').waitFor();
    await page.close();
  });
});
