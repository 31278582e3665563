import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import {
  faultsInEveryLook,
  member,
  useMemberSite,
  violations,
} from '#tests/web/support/member-site.ts';
import { ok, problem, type Reply } from '#tests/web/support/site.ts';

const { open, site } = useMemberSite();

const warning = 'Only the first 200 of 312 pages were read.';
const read = (name: string, text: string, warnings: readonly string[] = []): Reply =>
  ok({ name, text, pages_read: null, warnings });

/** The server's answers, by the name that the form sends. */
const answers: Readonly<Record<string, Reply>> = {
  'costs.csv': read('costs.csv', 'Item,Cost\nRent,2250'),
  'plan.pdf': read('plan.pdf', 'The plan of the year', [warning]),
  'scan.pdf': read('scan.pdf', '', ['We found no text.']),
  'long.txt': read('long.txt', 'a'.repeat(39_990)),
  'locked.pdf': problem(415, 'file-unreadable', 'This file has a password.'),
};

async function openForm(): Promise<Page> {
  const page = await open('/optimization', {
    api: member({
      'POST /api/optimizations/files': ({ body }) => {
        const name = /filename="([^"]+)"/.exec(String(body))?.[1] ?? '';
        return answers[name] ?? problem(400, 'validation', 'Send one file');
      },
    }),
  });
  await page.getByLabel('What business challenge are you facing?').fill('Should we move?');
  await page.getByRole('radio', { name: /Balanced/ }).check();
  return page;
}

async function add(page: Page, ...names: string[]): Promise<void> {
  await page
    .getByLabel('Files to add')
    .setInputFiles(
      names.map((name) => ({ name, mimeType: 'text/plain', buffer: Buffer.from('x') })),
    );
}

const rows = (page: Page) => page.getByRole('list', { name: 'Files' }).getByRole('listitem');
const focused = (page: Page) =>
  page.evaluate(
    () => document.activeElement?.getAttribute('aria-label') ?? document.activeElement?.textContent,
  );
const start = (page: Page) => page.locator('button[type="submit"]');

describe('the files of a question', () => {
  it('files are read, shown, edited and removed, and the form passes axe in every look', async () => {
    const page = await openForm();
    await add(page, 'costs.csv', 'plan.pdf', 'locked.pdf');
    await expect.poll(() => rows(page).count()).toBe(3);
    await page.getByText('This file has a password.', { exact: true }).waitFor();
    await page.getByText('One file was not read and will not be sent.').waitFor();
    await page.getByText(warning, { exact: true }).waitFor();
    await page.getByText('39 of 40,000 characters together').waitFor();
    const show = page.getByRole('button', { name: 'Show text of costs.csv' });
    await show.press('Enter');
    await page.getByLabel('Text of costs.csv', { exact: true }).fill('Rent,2300');
    await page.getByText('29 of 40,000 characters together').waitFor();
    expect(await faultsInEveryLook(page)).toEqual([]);
    await page.getByRole('button', { name: 'Dismiss locked.pdf' }).press('Enter');
    await page.getByRole('button', { name: 'Remove plan.pdf' }).press('Enter');
    await expect.poll(() => rows(page).count()).toBe(1);
    await expect.poll(() => focused(page)).toBe('Add files');
  });

  it('a reload keeps the texts, the estimate counts them, and the start sends them', async () => {
    const page = await openForm();
    await add(page, 'costs.csv', 'plan.pdf');
    await page.getByText('39 of 40,000 characters together').waitFor();
    const key = () => page.evaluate(() => JSON.stringify(localStorage));
    await expect.poll(key).toContain('Rent,2250');
    const estimates = () =>
      site()
        .calls.filter(({ path }) => path === '/api/optimizations/estimate')
        .map(({ body }) => (body as { files_characters?: number }).files_characters);
    await expect.poll(() => estimates().at(-1)).toBe(39);
    await page.reload();
    await expect.poll(() => rows(page).count()).toBe(2);
    await page.getByText(warning).waitFor();
    await expect.poll(() => start(page).isEnabled()).toBe(true);
    await start(page).click();
    const created = () => site().calls.find(({ path }) => path === '/api/optimizations')?.body;
    await expect.poll(created).toMatchObject({
      files: [
        { name: 'costs.csv', text: 'Item,Cost\nRent,2250' },
        { name: 'plan.pdf', text: 'The plan of the year' },
      ],
    });
  });

  it('texts that are too long or empty, and a sixth file, are named where they are', async () => {
    const page = await openForm();
    await add(page, 'long.txt', 'plan.pdf', 'scan.pdf', 'costs.csv', 'costs.csv', 'plan.pdf');
    await expect.poll(() => rows(page).count()).toBe(6);
    await expect.poll(() => rows(page).last().innerText()).toContain('Up to 5 files');
    await page.getByText('This file has no text').waitFor();
    await page.getByRole('button', { name: 'Remove scan.pdf' }).click();
    await page.getByText('The files can have up to 40,000 characters together').waitFor();
    await expect.poll(() => start(page).isDisabled()).toBe(true);
    await page.getByRole('button', { name: 'Remove long.txt' }).click();
    await expect.poll(() => start(page).isEnabled()).toBe(true);
  });

  it('dropped files are added', async () => {
    const page = await openForm();
    await page.getByText('Or drop them here.').evaluate((target) => {
      const dataTransfer = new DataTransfer();
      dataTransfer.items.add(new File(['x'], 'costs.csv'));
      for (const type of ['dragover', 'drop'])
        target.dispatchEvent(
          new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true }),
        );
    });
    await page.getByRole('button', { name: 'Show text of costs.csv' }).waitFor();
    expect(await violations(page)).toEqual([]);
  });
});
