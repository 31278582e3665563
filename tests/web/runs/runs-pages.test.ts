import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import type { Fact } from '#services/live/contract.ts';
import type { ListedRun } from '#services/optimizations/contract/run.ts';
import { closed, runId as storyId } from '#tests/optimizations/run/run-script.ts';
import {
  balance,
  failing,
  faultsInEveryLook,
  member,
  page as pageOf,
  runId,
  runOf,
  useMemberSite,
  violations,
} from '#tests/web/support/member-site.ts';
import { storyOf } from '#tests/web/support/run-story.ts';
import { type Api, type Call, ok, problem } from '#tests/web/support/site.ts';

const { open, site } = useMemberSite();

const list = '/dashboard/optimizations';
const story = storyOf(closed());

/** A server that keeps one user's runs: a deleted run is hidden, and every change is published. */
function keep(begin: readonly ListedRun[], answers: Parameters<typeof member>[0] = {}) {
  const runs = new Map(begin.map((run) => [run.id, run]));
  const hidden = new Set<string>();
  const streams = new Set<ReadableStreamDefaultController<Uint8Array>>();
  let version = 100;

  const shown = (): ListedRun[] => [...runs.values()].filter(({ id }) => !hidden.has(id));
  const write = (event: string, data: unknown): Uint8Array => {
    version += 1;
    const text = `id: e.1.${version}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
    return new TextEncoder().encode(text);
  };
  const publish = (type: Fact['type'], id: string, patch: Fact['patch']): void => {
    const entity = { kind: 'run_row', id } as const;
    const at = new Date().toISOString();
    const fact: Fact = { type, at, stream: `optimization-${id}`, version, entity, patch };
    for (const stream of streams) stream.enqueue(write('fact', fact));
  };
  const hide = (id: string): void => {
    hidden.add(id);
    publish('OptimizationHidden', id, { hidden: true });
  };
  const restore = (id: string): void => {
    hidden.delete(id);
    publish('OptimizationRestored', id, { hidden: false });
  };
  /** Deletes a run unpublished, because every stream has broken off. */
  const hideUnpublished = (id: string): void => {
    hidden.add(id);
    for (const stream of streams) stream.close();
    streams.clear();
  };
  const rename = (id: string, title: string): void => {
    const run = runs.get(id);
    if (run) runs.set(id, { ...run, title });
    publish('OptimizationRenamed', id, { title });
  };
  const stream = () => {
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        streams.add(controller);
        controller.enqueue(write('snapshot', { balance, runs: shown() }));
      },
    });
    return { status: 200, body, headers: { 'content-type': 'text/event-stream' } };
  };
  const listed = ({ search }: Call) => {
    const wanted = new URLSearchParams(search);
    const found = shown().filter(
      ({ title, status }) =>
        title.includes(wanted.get('q') ?? '') && status === (wanted.get('status') ?? status),
    );
    const first = (Number(wanted.get('page')) - 1) * 10;
    return pageOf(found.slice(first, first + 10), found.length);
  };
  const full = (id: string) => {
    const known = runs.get(id);
    if (!known || hidden.has(id)) return problem(404, 'not-found', 'Failed to get optimization');
    const { council, ...rest } = story.copy();
    const { refinements: _count, ...row } = known;
    return ok({ ...rest, ...row, council: { ...council, id, title: known.title } });
  };
  const others = member({
    'GET /api/stream': stream,
    'GET /api/optimizations': listed,
    ...answers,
  });
  const api: Api = (call) => {
    const [, id = '', rest] = /^\/api\/optimizations\/(opt_\w+)(\/\w+)?$/.exec(call.path) ?? [];
    if (id === '' || `${call.method} ${call.path}` in answers) return others(call);
    if (call.method === 'DELETE') {
      hide(id);
      return ok({ id, deleted: true });
    }
    if (rest === '/restore') restore(id);
    if (call.method === 'PATCH') rename(id, (call.body as { title: string }).title);
    return full(id);
  };
  return { api, hide, hideUnpublished, restore, rename };
}

const five = [
  runOf(1, { status: 'processing', progress: 46, agreement_score: null }),
  runOf(2, { title: 'A second shop?' }),
  runOf(3, { status: 'failed', agreement_score: null }),
  runOf(4, { refinements: 2 }),
  runOf(5, { status: 'pending' }),
];
const many = Array.from({ length: 25 }, (_, index) => runOf(index + 1));

const titles = (page: Page) => page.locator('main li p:first-child').allInnerTexts();
const lists = () => site().calls.filter(({ path }) => path === '/api/optimizations');
const lastAsked = () => lists().at(-1)?.search;
const sent = () =>
  site()
    .calls.filter(({ method, path }) => method !== 'GET' && path.startsWith('/api/optimizations/'))
    .map(({ method, path }) => `${method} ${path.slice('/api/optimizations/'.length)}`);
const button = (page: Page, name: string, run: string) =>
  page.getByRole('button', { name: `${name} : ${run}` });
const undo = (page: Page) => page.getByRole('button', { name: /^Undo/ });
const focused = (page: Page) => page.evaluate(() => document.activeElement?.textContent ?? '');
const address = (page: Page) => new URL(page.url()).search;

describe('the list of all optimizations', () => {
  it('the list passes axe, fits every window, and links each run to its question and a recipe', async () => {
    const page = await open(list, { api: keep(five).api });
    await page.getByText('This run is still going. Cancel it before you delete it.').waitFor();
    await expect.poll(() => button(page, 'Delete', 'Question 1').count()).toBe(0);
    const row = page.getByRole('listitem').filter({ hasText: 'A second shop?' });
    const target = (name: string) => row.getByRole('link', { name }).getAttribute('href');
    const refined = page.getByRole('listitem').filter({ hasText: 'Question 4' });
    await refined.getByText('2 refinements').waitFor();
    expect(await target('Duplicate')).toBe(`/optimization?from=${runId(2)}`);
    expect(await target('Save as recipe')).toBe(`/recipes/new?run=${runId(2)}`);
    await button(page, 'Rename', 'Question 4').click();
    await page.getByRole('dialog').getByLabel('Title').waitFor();
    expect(await faultsInEveryLook(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await button(page, 'Delete', 'Question 5').press('Enter');
    const notices = page.getByRole('region', { name: 'Notifications' });
    await notices.getByText('it comes back as canceled').waitFor();
    expect(await violations(page)).toEqual([]);
  });

  it("the list downloads as the server's file, with its filters, and says what it leaves out", async () => {
    const content = '\uFEFFid,title\r\nopt_1,"A, B"\r\n';
    const body = () => new Blob([content]).stream();
    const headers = { 'content-type': 'text/csv; charset=utf-8; header=present' };
    const page = await open(`${list}?status=completed&sort=oldest`, {
      api: member({
        'GET /api/optimizations': ({ search }) =>
          search.includes('format=csv')
            ? { status: 200, body: body(), headers }
            : pageOf(many.slice(0, 10), 1234),
      }),
    });
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download CSV' }).click(),
    ]);
    expect(file.suggestedFilename()).toBe('sevenfold-optimizations.csv');
    expect(await readFile(await file.path(), 'utf8')).toBe(content);
    await page.getByRole('main').getByText('The file holds the first 1,000 of 1,234.').waitFor();
    const asked = new URLSearchParams(lastAsked());
    expect(Object.fromEntries(asked)).toEqual({
      status: 'completed',
      sort: 'oldest',
      format: 'csv',
    });
  });

  it('the list follows the address, also after a reload and the back button', async () => {
    const page = await open(`${list}?page=2&status=completed`, { api: keep(many).api });
    await page.getByText('Page 2 of 3').waitFor();
    expect(lastAsked()).toBe('?page=2&limit=10&status=completed');
    await page.getByLabel('Search titles and questions').fill('Question 1');
    await page.getByLabel('Order').focus();
    await page.getByLabel('Order').selectOption('Most credits first');
    await page.getByText('Page 1 of 2').waitFor();
    expect(address(page)).toBe('?q=Question+1&status=completed&sort=credits');
    expect(lastAsked()).toBe('?page=1&limit=10&q=Question+1&status=completed&sort=credits');
    await expect
      .poll(() => page.getByLabel('Order').evaluate((one) => one === document.activeElement))
      .toBe(true);
    await page.locator('output').getByText('11 optimizations found').waitFor();
    await page.getByRole('link', { name: 'Next' }).click();
    await page.getByText('Page 2 of 2').waitFor();
    await expect.poll(() => focused(page)).toBe('Your optimizations');
    await page.reload();
    await page.getByText('Page 2 of 2').waitFor();
    expect(await titles(page)).toEqual(['Question 19']);
    await page.goBack();
    await page.getByText('Page 1 of 2').waitFor();
    await page.goBack();
    await page.getByText('Page 2 of 3').waitFor();
    await expect.poll(() => page.getByLabel('Search titles and questions').inputValue()).toBe('');
    await expect.poll(() => page.getByLabel('Order').inputValue()).toBe('newest');
    await expect.poll(() => page.getByLabel('Status').inputValue()).toBe('completed');
  });

  it('the list ignores an invalid address', async () => {
    const bad = `?page=-3&status=nonsense&strategy=7&sort=%5B1%5D&q=${'x'.repeat(300)}`;
    const page = await open(`${list}${bad}`, { api: keep(five).api });
    await page.getByText('No matching optimizations.').waitFor();
    expect(lastAsked()).toBe(`?page=1&limit=10&q=${'x'.repeat(200)}`);
    await expect.poll(() => page.getByLabel('Status').inputValue()).toBe('');
    await page.goto(`${site().origin}${list}?page=99&sort=oldest&q=5`);
    await page.getByText('1 optimization found').waitFor();
    expect(address(page)).toMatch(/^\?(sort=oldest&q=5|q=5&sort=oldest)$/);
  });

  it('the list says when there are no runs, when none matches, and when they could not be read', async () => {
    const page = await open(list, { api: keep([]).api });
    await page.getByRole('link', { name: 'Ask your first question' }).waitFor();
    site().answer(keep(five).api);
    await page.goto(`${site().origin}${list}?q=nowhere`);
    await page.getByText('No matching optimizations.').waitFor();
    await page.getByRole('link', { name: 'Show all optimizations' }).press('Enter');
    await page.getByText('5 optimizations', { exact: true }).first().waitFor();
    expect(address(page)).toBe('');
    await expect.poll(() => focused(page)).toBe('Your optimizations');
    site().answer(keep(five, { 'GET /api/optimizations': failing }).api);
    await page.reload();
    await page.getByText('Failed to list optimizations').first().waitFor();
    site().answer(keep(five).api);
    await page.getByRole('button', { name: 'Try Again' }).click();
    await page.getByText('5 optimizations', { exact: true }).first().waitFor();
  });
});

describe('a run that is renamed in the list', () => {
  it('a renamed run shows its new title, and the focus returns', async () => {
    const page = await open(list, { api: keep(five).api });
    await button(page, 'Rename', 'A second shop?').press('Enter');
    const field = page.getByRole('dialog').getByLabel('Title');
    await expect.poll(() => field.evaluate((one) => one === document.activeElement)).toBe(true);
    await field.fill('  ');
    await field.press('Enter');
    await page.getByText('Enter a title').waitFor();
    expect(sent()).toEqual([]);
    await field.fill('The shop');
    await field.press('Enter');
    await button(page, 'Rename', 'The shop').waitFor();
    expect(sent()).toEqual([`PATCH ${runId(2)}`]);
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0);
    await expect.poll(() => focused(page)).toBe('Rename: The shop');
  });

  it('a failed rename keeps the title in the list and the text in the dialog', async () => {
    const page = await open(list, {
      api: keep(five, { [`PATCH /api/optimizations/${runId(2)}`]: failing }).api,
    });
    await button(page, 'Rename', 'A second shop?').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Title').fill('The shop');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.getByText("We couldn't save that.").waitFor();
    await expect.poll(() => dialog.getByLabel('Title').inputValue()).toBe('The shop');
  });
});

describe('a run that is deleted in the list', () => {
  it('a deletion by keyboard moves the focus to Undo, which stops the time and restores the run', async () => {
    const page = await open(list, {
      api: keep(five).api,
      prepare: async (opened) => opened.clock.install(),
    });
    await button(page, 'Delete', 'A second shop?').press('Enter');
    await expect.poll(() => focused(page)).toBe('Undo the deletion of A second shop?');
    await page.locator('output').getByText('Optimization deleted. A second shop?').waitFor();
    await expect.poll(() => titles(page)).not.toContain('A second shop?');
    await page.clock.runFor(20_000);
    await expect.poll(() => undo(page).count()).toBe(1);
    await undo(page).press('Enter');
    await button(page, 'Delete', 'A second shop?').waitFor();
    await undo(page).waitFor({ state: 'detached' });
    expect(sent()).toEqual([`DELETE ${runId(2)}`, `POST ${runId(2)}/restore`]);
    await expect
      .poll(() => page.evaluate(() => document.activeElement?.id))
      .toBe(`run-${runId(2)}`);
  });

  it('a deletion can be undone for eight seconds, which pause under the pointer', async () => {
    const page = await open(list, {
      api: keep(five).api,
      prepare: async (opened) => opened.clock.install(),
    });
    await button(page, 'Delete', 'A second shop?').click();
    await undo(page).waitFor();
    await expect
      .poll(() => page.evaluate(() => document.activeElement?.id))
      .toBe(`run-${runId(3)}`);
    // The second press of a double click would hit the run that has moved up.
    await page.mouse.down({ clickCount: 2 });
    await page.mouse.up({ clickCount: 2 });
    await undo(page).hover();
    await page.clock.runFor(20_000);
    await expect.poll(() => undo(page).count()).toBe(1);
    await page.mouse.move(0, 0);
    await page.clock.runFor(3_000);
    await expect.poll(() => undo(page).count()).toBe(1);
    await page.clock.runFor(6_000);
    await undo(page).waitFor({ state: 'detached' });
    expect(sent()).toEqual([`DELETE ${runId(2)}`]);
  });

  it('a refused deletion keeps the run and says why', async () => {
    const page = await open(list, {
      api: keep(five, {
        [`DELETE /api/optimizations/${runId(2)}`]: problem(409, 'running', 'The run continues.'),
      }).api,
    });
    await button(page, 'Delete', 'A second shop?').press('Enter');
    await page
      .getByRole('listitem')
      .getByText("We couldn't delete it. The run continues.")
      .waitFor();
    await expect.poll(() => focused(page)).toBe('Delete: A second shop?');
    await expect.poll(() => undo(page).count()).toBe(0);
  });

  it('a failed Undo can be repeated', async () => {
    let isDown = true;
    const { api } = keep(five);
    const page = await open(list, {
      api: (call) => (isDown && call.path.endsWith('/restore') ? failing : api(call)),
    });
    await button(page, 'Delete', 'A second shop?').press('Enter');
    await undo(page).press('Enter');
    const notice = page.getByRole('region', { name: 'Notifications' });
    await notice.getByText("We couldn't restore it.").waitFor();
    isDown = false;
    await undo(page).press('Enter');
    await button(page, 'Delete', 'A second shop?').waitFor();
  });

  it('a deletion is not shown to the next user', async () => {
    const page = await open(list, { api: keep(five).api });
    await button(page, 'Delete', 'A second shop?').press('Enter');
    await undo(page).waitFor();
    await page.getByRole('button', { name: 'Logout' }).click();
    await page.waitForURL('**/login**');
    await expect.poll(() => page.getByText('A second shop?').count()).toBe(0);
  });
});

describe('what happens to a run elsewhere', () => {
  it('a change of a run elsewhere shows at once in the list, in a filtered one, and on the dashboard', async () => {
    const { api, hide, restore, rename } = keep(five);
    const page = await open(list, { api });
    const found = await open(`${list}?q=shop`, { api });
    const dashboard = await open('/dashboard', { api });
    await page.getByText('5 optimizations', { exact: true }).waitFor();
    await found.getByText('1 optimization found').waitFor();
    await dashboard.getByText('A second shop?', { exact: true }).waitFor();
    const streams = () => site().calls.filter(({ path }) => path === '/api/stream').length;
    await expect.poll(streams).toBe(3);
    hide(runId(2));
    await page.getByText('4 optimizations', { exact: true }).waitFor();
    expect(await titles(page)).not.toContain('A second shop?');
    await found.getByText('No matching optimizations.').waitFor();
    await dashboard.getByText('A second shop?', { exact: true }).waitFor({ state: 'detached' });
    restore(runId(2));
    for (const each of [page, found, dashboard])
      await each.getByText('A second shop?', { exact: true }).waitFor();
    rename(runId(2), 'The second');
    for (const each of [page, dashboard])
      await each.getByText('The second', { exact: true }).waitFor();
    await found.getByText('No matching optimizations.').waitFor();
  });

  it('a change during a break of the stream shows in the list afterwards', async () => {
    const { api, hideUnpublished } = keep(five);
    const page = await open(list, { api });
    await page.getByText('5 optimizations', { exact: true }).waitFor();
    await expect.poll(() => site().calls.some(({ path }) => path === '/api/stream')).toBe(true);
    hideUnpublished(runId(2));
    await page.getByText('4 optimizations', { exact: true }).waitFor();
  });

  it('a run deleted elsewhere loses its page, and a restored one gets it back', async () => {
    const { api, hide, restore } = keep([runOf(2, { id: storyId })]);
    const page = await open(`/optimizations/${storyId}`, { api });
    await page.getByText('Recommended by').first().waitFor();
    await expect.poll(() => site().calls.some(({ path }) => path === '/api/stream')).toBe(true);
    hide(storyId);
    await page.getByRole('heading', { name: "We can't find that page" }).waitFor();
    restore(storyId);
    await page.getByText('Recommended by').first().waitFor();
  });
});

describe('the page of a result', () => {
  const result = `/optimizations/${storyId}`;
  const title = story.view().title ?? '';

  it('a deleted result leads to the list, with Undo on it', async () => {
    const page = await open(result, {
      api: keep([...five.slice(1), runOf(6, { id: storyId, title })]).api,
    });
    await button(page, 'Delete', title).press('Enter');
    await page.getByRole('heading', { name: 'Your optimizations' }).waitFor();
    await expect.poll(() => focused(page)).toBe(`Undo the deletion of ${title}`);
    await page.getByText('4 optimizations', { exact: true }).waitFor();
    expect(await violations(page)).toEqual([]);
    await undo(page).press('Enter');
    await page.getByText('5 optimizations', { exact: true }).waitFor();
    await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe(`run-${storyId}`);
  });

  it('a result that could not be deleted stays', async () => {
    const page = await open(result, {
      api: keep([runOf(6, { id: storyId, title })], {
        [`DELETE /api/optimizations/${storyId}`]: failing,
      }).api,
    });
    await button(page, 'Delete', title).click();
    await page.locator('main').getByText("We couldn't delete it.").waitFor();
    await expect.poll(() => new URL(page.url()).pathname).toBe(result);
  });

  it('a renamed result has the new title as its heading, and the question below', async () => {
    const page = await open(result, { api: keep([runOf(6, { id: storyId, title })]).api });
    await button(page, 'Rename', title).click();
    await page.getByRole('dialog').getByLabel('Title').fill('The offer');
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    await page.getByRole('heading', { name: 'The offer', level: 1 }).waitFor();
    await page.locator('summary').getByText('Your question').click();
    await page.locator('details').getByText(title, { exact: true }).first().waitFor();
    expect(await violations(page)).toEqual([]);
  });
});
