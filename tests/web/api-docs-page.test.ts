import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { apiDocs } from '#services/http/docs.ts';
import { openApiHandlers } from '#services/http/openapi.ts';
import { createRouter } from '#services/platform/http/http.ts';
import { listen, stopListening } from '#services/platform/process/listen.ts';
import { findings } from './support/axe.ts';
import { launchBrowser } from './support/browser.ts';

/** The API viewer in a browser, under its own content policy. */
let browser: Browser;
let url: string;
let close: () => Promise<void>;
/** One page for the tests of the viewer, which takes seconds to draw. */
let viewer: Page;
const errors: string[] = [];
const elsewhere: string[] = [];

beforeAll(async () => {
  const options = { productName: 'Sevenfold', publicUrl: 'https://elsewhere.example' };
  const { 'GET /openapi.json': describeApi } = openApiHandlers(options);
  const pages = createRouter()
    .route('/', apiDocs(options))
    .get('/api/openapi.json', (context) => describeApi({ context }));
  const show = getRequestListener(pages.fetch);
  const server = createServer((request, response) => void show(request, response));
  url = await listen(server, { host: '127.0.0.1', port: 0 });
  close = async () => stopListening(server);
  browser = await launchBrowser();
  viewer = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  viewer.on('console', (message) => {
    if (message.type() === 'error') errors.push(message.text());
  });
  viewer.on('pageerror', (error) => errors.push(error.message));
  viewer.on('request', (request) => {
    const { origin, protocol } = new URL(request.url());
    if (origin !== url && protocol !== 'data:') elsewhere.push(request.url());
  });
  await viewer.goto(`${url}/api-docs`);
  await viewer.getByText('/optimizations/{id}/process').first().waitFor();
});

afterAll(async () => {
  await browser.close();
  await close();
});

test('the viewer follows the theme, and axe finds no more than the viewer itself causes', async () => {
  await viewer.setViewportSize({ width: 390, height: 900 });
  const ground = () =>
    viewer.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  await viewer.emulateMedia({ colorScheme: 'light' });
  await expect.poll(ground).toBe('rgba(0, 0, 0, 0)');
  await viewer.emulateMedia({ colorScheme: 'dark' });
  await expect.poll(ground).toBe('rgb(28, 32, 34)');
  const found = await findings(viewer, {
    runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa'],
    rules: Object.fromEntries(ofTheViewer.map((rule) => [rule, { enabled: false }])),
  });
  expect(found).toEqual([]);
  await viewer.setViewportSize({ width: 1280, height: 900 });
});

test(
  'the viewer shows every endpoint, sends calls only to this server, and keeps to its policy',
  { tags: ['long'] },
  async () => {
    // Later than the look by axe, which the long response would slow down.
    const document = (await (await fetch(`${url}/api/openapi.json`)).json()) as {
      paths: Record<string, object>;
    };
    const operations = Object.values(document.paths)
      .flatMap((path) => Object.keys(path))
      .filter((key) => key !== 'servers');
    await expect.poll(() => viewer.locator('.opblock').count()).toBe(operations.length);
    await viewer.locator('#operations-description-getOpenapiJson button').first().click();
    await viewer.getByRole('button', { name: 'Try it out' }).click();
    const called = viewer.waitForRequest((request) => request.url() === `${url}/api/openapi.json`);
    await viewer.getByRole('button', { name: 'Execute' }).click();
    expect((await called).method()).toBe('GET');
    expect(errors).toEqual([]);
    expect(elsewhere).toEqual([]);
  },
);

test('the viewer and the description link to the guide to the stream and the socket', async () => {
  await viewer
    .getByRole('link', { name: 'Live updates: how to use the stream and the socket' })
    .click();
  await viewer.getByRole('heading', { level: 1 }).waitFor();
  const text = readFileSync('docs/live.md', 'utf8');
  const headings = [...text.matchAll(/^#{1,3} (.+)$/gm)].map(([, heading]) => heading);
  await expect.poll(() => viewer.getByRole('heading').allTextContents()).toEqual(headings);
  const tables = [...text.matchAll(/^\|(?: ?-+ ?\|)+$/gm)].length;
  await expect.poll(() => viewer.getByRole('table').count()).toBe(tables);
  await expect.poll(() => viewer.locator('script, style, [style]').count()).toBe(0);
  const { externalDocs, tags } = (await (await fetch(`${url}/api/openapi.json`)).json()) as {
    externalDocs: { url: string };
    tags: { name: string; externalDocs?: { url: string } }[];
  };
  const found = [externalDocs.url, tags.find(({ name }) => name === 'stream')?.externalDocs?.url];
  expect(found).toEqual(Array(2).fill('https://elsewhere.example/api-docs/live'));
});

test.each(['live', 'programs'])(
  'the guide %s passes axe and fits wide and narrow windows, examples and all, in both themes',
  async (guide) => {
    const page = await browser.newPage();
    const reported: string[] = [];
    page.on('console', (message) => {
      if (message.type() === 'error') reported.push(message.text());
    });
    await page.goto(`${url}/api-docs/${guide}`);
    for (const colorScheme of ['light', 'dark'] as const)
      for (const width of [390, 1440]) {
        await page.emulateMedia({ colorScheme });
        await page.setViewportSize({ width, height: 900 });
        expect(await findings(page)).toEqual([]);
        await expect
          .poll(() => page.evaluate(() => document.documentElement.scrollWidth))
          .toBe(width);
        const cut = await page
          .locator('pre')
          .evaluateAll(
            (all) => all.filter((one) => one.scrollWidth > one.parentElement!.clientWidth).length,
          );
        expect(cut).toBe(0);
      }
    expect(reported).toEqual([]);
    await page.close();
  },
);

/**
 * Rules that Swagger UI's own markup breaks; the description is also available without it. Contrast is
 * among them, so one theme is enough.
 */
const ofTheViewer = ['color-contrast', 'nested-interactive', 'select-name', 'target-size'];
