import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freePort } from '#services/platform/process/listen.ts';
import {
  type Application,
  createClient,
  eventually,
  startApplication,
  temporaryFolder,
} from '#tests/support/processes/processes.ts';
import { launchBrowser } from '#tests/web/support/browser.ts';
import { faultsInEveryLook } from '#tests/web/support/member-site.ts';
import { settled, watchRequests } from '#tests/web/support/settled.ts';
import { elite, memberPages, moves, publicPages, type SpecifiedPage } from './pages.ts';
import { movingChange, movingPages, movingStart, slowReplies } from './stillness.ts';

type Ids = Readonly<Record<'run' | 'recipe' | 'month', string>>;

/** Every page of the specification in the real application, signed out and in, and every link on them. */
const folder = temporaryFolder();
let application: Application;
let browser: Browser;
let visitor: Page;
let member: Page;
/** What the places in the specified addresses stand for. */
let ids: Ids = { run: '', recipe: '', month: '' };
/** Each address that a page links to, with the pages that do. */
const linked = new Map<string, Set<string>>();

beforeAll(async () => {
  application = await startApplication({
    dataDir: folder.path,
    port: await freePort(),
    // Runs with these models stay in progress; the fast strategy does without them.
    settings: { SANDBOX_PERSONAS: 'mistral-large-4=hang,mistral-large-2512=hang' },
  });
  browser = await launchBrowser();
  visitor = await openPage();
  member = await openPage();
  ids = await signInWithRun(member);
}, 180_000);

afterAll(async () => {
  await browser?.close();
  await application?.[Symbol.asyncDispose]();
  folder.remove();
});

/** A browser of its own. */
async function openPage(): Promise<Page> {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 900 },
    reducedMotion: 'reduce',
  });
  const page = await context.newPage();
  watchRequests(page);
  return page;
}

/** Signs the demo user in and completes a run of theirs. */
async function signInWithRun(page: Page): Promise<Ids> {
  await page.goto(`${application.url}/login`);
  await page.getByLabel('Email').fill(application.demo.email);
  await page.getByLabel('Password', { exact: true }).fill(application.demo.password);
  await page.getByRole('button', { name: 'Login', exact: true }).click();
  await page.waitForURL('**/dashboard');
  const { client, token } = await preferView('standard');
  const id = await startRun(client, token, 'fast');
  await eventually('the result', async () => {
    const run = await client.data<{ status: string }>(`/optimizations/${id}`, { token });
    return run.status === 'completed';
  });
  const [recipe] = await client.data<{ id: string }[]>('/recipes', { token });
  const [month] = await client.data<string[]>('/credits/statements', { token });
  return { run: id, recipe: recipe?.id ?? 'none', month: month ?? 'none' };
}

async function startRun(
  client: ReturnType<typeof createClient>,
  token: string,
  strategy: string,
): Promise<string> {
  const { id } = await client.data<{ id: string }>('/optimizations', {
    token,
    body: { challenge: 'Raise the price of my tool, or find more customers?', strategy },
  });
  await client.data(`/optimizations/${id}/process`, { method: 'POST', token });
  return id;
}

/** Chooses the demo user's dashboard. Returns the client that did, with its token. */
async function preferView(view: 'standard' | 'elite') {
  const client = createClient(application.url, {});
  const { token } = await client.data<{ token: string }>('/auth/login', { body: application.demo });
  await client.data('/users/me', {
    method: 'PATCH',
    token,
    body: { preferred_dashboard: view },
  });
  return { client, token };
}

/** Public pages differ for a user only in the frame around them: here a document, a list, and no page. */
const framedPaths: readonly string[] = ['/terms', '/help', '/no-such-page'];

/** A statement and a recipe still move when their replies arrive. */
const stillPages = memberPages
  .map(({ path }) => path)
  .filter((path) => !/^\/optimization\/|\{(month|recipe)\}/.test(path));

const pathOf = (page: Page): string => {
  const { pathname, search } = new URL(page.url());
  return `${pathname}${search}`;
};
const withIds = (path: string): string =>
  path.replaceAll(/\{(run|recipe|month)\}/g, (_, name: keyof Ids) => ids[name]);

function addLink(href: string, from: string): void {
  const url = new URL(href);
  if (url.hash === '#main') return;
  const isOwn = url.origin === application.url;
  const key = isOwn ? `${url.pathname}${url.search}${url.hash}` : href;
  linked.set(key, (linked.get(key) ?? new Set()).add(from));
}

/** Every second page is dark where the others are light: the frame around them is seen in each theme at each width. */
const isOdd = (page: SpecifiedPage): boolean =>
  [...publicPages, ...memberPages].findIndex(({ path }) => path === page.path) % 2 === 1;

/** The page's own address, status, title, heading and faults, once it shows its sentences. */
async function read(page: Page, specified: SpecifiedPage) {
  const response = await page.goto(`${application.url}${withIds(specified.path)}`);
  await settled(page);
  const missing = async (): Promise<string[]> => {
    const words = await page.evaluate(
      () =>
        `${document.body.textContent} ${[...document.querySelectorAll('[aria-label]')]
          .map((element) => element.ariaLabel)
          .join(' ')}`,
    );
    const seen = words.replace(/\s+/g, ' ');
    return specified.sentences.filter((sentence) => !seen.includes(sentence));
  };
  await expect.poll(missing, { timeout: 10_000 }).toEqual([]);
  const seen = await page.evaluate(() => ({
    headings: [...document.querySelectorAll('h1')].map(({ textContent }) => textContent.trim()),
    links: [...document.querySelectorAll<HTMLAnchorElement>('a[href]')].map(({ href }) => href),
  }));
  for (const href of seen.links) addLink(href, specified.path);
  return {
    path: pathOf(page),
    status: response?.status(),
    title: await page.title(),
    headings: seen.headings,
    // What a page leads to is read under its own address.
    faults:
      specified.leadsTo === undefined
        ? await faultsInEveryLook(page, { isDarkWide: isOdd(specified) })
        : [],
  };
}

const expected = (specified: SpecifiedPage) => ({
  path: withIds(specified.leadsTo ?? specified.path).split('#')[0],
  status: specified.status ?? 200,
  title: specified.title === '' ? expect.any(String) : expect.stringContaining(specified.title),
  headings: [expect.stringMatching(specified.heading)],
  faults: [],
});

describe('a visitor', () => {
  test.each(publicPages)('a visitor reads what $path is specified to say', async (page) => {
    expect(await read(visitor, page)).toEqual(expected(page));
  });

  test.each(memberPages)(
    'a visitor who opens $path signs in first and comes back',
    async (page) => {
      await visitor.goto(`${application.url}${withIds(page.path)}`);
      await visitor.waitForURL('**/login?**');
      const back = new URL(visitor.url()).searchParams.get('redirect');
      expect([withIds(page.path), withIds(page.leadsTo ?? page.path)]).toContain(back);
    },
  );
});

describe('a signed-in user', () => {
  test.each(memberPages)('a user reads what $path is specified to say', async (page) => {
    expect(await read(member, page)).toEqual(expected(page));
  });

  test('a user reads the elite dashboard a switch away', async () => {
    await member.goto(`${application.url}/dashboard`);
    await member.getByText('Elite', { exact: true }).click();
    for (const heading of elite.headings)
      await member.getByRole('heading', { name: heading }).waitFor();
    for (const [link, path] of elite.links)
      expect(
        await member
          .getByRole('main')
          .getByRole('link', { name: link })
          .first()
          .getAttribute('href'),
      ).toBe(path);
    expect(await faultsInEveryLook(member)).toEqual([]);
    await member.getByText('Standard', { exact: true }).click();
  });

  test.each(publicPages.filter(({ path }) => framedPaths.includes(path)))(
    'a user may read $path, too',
    async (page) => {
      expect(await read(member, { ...page, sentences: [] })).toEqual(expected(page));
    },
  );

  test.each(moves)('a user who opens $from is led to $to', async ({ from, to }) => {
    await member.goto(`${application.url}${from}`);
    await member.waitForURL(`**${to}`);
  });
});

/** A signed-in browser of its own, whose replies are late. */
async function slowBrowser(width: number): Promise<BrowserContext> {
  const context = await browser.newContext({
    viewport: { width, height: 900 },
    storageState: await member.context().storageState(),
  });
  await slowReplies(context);
  return context;
}

describe('a page that stands still', () => {
  const addressOf = (path: string): string => `${application.url}${withIds(path)}`;

  test.each([
    { width: 390, strategy: 'Reasoning' },
    { width: 1440, strategy: 'Premium' },
  ])(
    'no page of a user moves after its first paint at $width px, however late the replies are',
    { tags: ['long'] },
    async ({ width, strategy }) => {
      const context = await slowBrowser(width);
      const moving = await movingPages(context, stillPages.map(addressOf));
      moving.push(...(await movingStart(context, addressOf('/optimization'), strategy)));
      // With the run in progress, and at the second width with few credits left.
      await preferView('elite');
      moving.push(...(await movingPages(context, [addressOf('/dashboard')], 'Running:')));
      await preferView('standard');
      expect(moving).toEqual([]);
      await context.close();
    },
  );

  test('a run that ends while its user reads the dashboard moves nothing there', async () => {
    const context = await slowBrowser(390);
    const { client, token } = await preferView('standard');
    const id = await startRun(client, token, 'economy');
    const cancel = async () =>
      client.data(`/optimizations/${id}/cancel`, { method: 'POST', token });
    expect(await movingChange(context, addressOf('/dashboard'), cancel, 'Ended:')).toEqual([]);
    await context.close();
  });
});

test('every link of every page leads to a page, and every anchor to a place on it', async () => {
  const { request } = member.context();
  const guide = await (await request.get(`${application.url}/api-docs/live`)).text();
  for (const [, href = ''] of guide.matchAll(/<a\b[^>]*\shref="([^"]*)"/g))
    addLink(new URL(href, `${application.url}/api-docs/live`).href, '/api-docs/live');
  const dead: string[] = [];
  for (const [address, from] of linked) {
    const { origin, protocol, pathname, hash } = new URL(address, application.url);
    if (origin !== application.url) {
      if (!['https:', 'mailto:'].includes(protocol))
        dead.push(`${address} is not encrypted; on ${[...from].join(', ')}`);
      continue;
    }
    const place = decodeURIComponent(hash.slice(1));
    const reply = await request.get(`${application.url}${address}`);
    if (!reply.ok()) dead.push(`${address} (${reply.status()}) on ${[...from].join(', ')}`);
    if (place === '' || pathname === '/api-docs') continue;
    if ((await reply.text()).includes(` id="${place}"`)) continue;
    // A page of the signed-in area is drawn by its script.
    await member.goto(`${application.url}${address}`);
    await member
      .locator(`[id="${place}"]`)
      .waitFor({ state: 'attached', timeout: 10_000 })
      .catch(() => dead.push(`${address} has no such place; on ${[...from].join(', ')}`));
  }
  expect(linked.size).toBeGreaterThan(20);
  expect(dead).toEqual([]);
});
