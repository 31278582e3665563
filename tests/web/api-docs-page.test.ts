import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { apiDocs } from '#services/http/docs.ts';
import { openApiHandlers } from '#services/http/openapi.ts';
import { createRouter } from '#services/platform/http/http.ts';
import { listen, stopListening } from '#services/platform/process/listen.ts';
import { findings } from './support/axe.ts';
import { launchBrowser } from './support/browser.ts';

/** The page that shows the description of the API, in a browser, under its own content policy. */
let browser: Browser;
let url: string;
let close: () => Promise<void>;

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
});

afterAll(async () => {
  await browser.close();
  await close();
});

test('shows every endpoint, asks nobody else for anything, and keeps to its policy', async () => {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  const said: string[] = [];
  const elsewhere: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error') said.push(message.text());
  });
  page.on('pageerror', (error) => said.push(error.message));
  page.on('request', (request) => {
    const { origin, protocol } = new URL(request.url());
    if (origin !== url && protocol !== 'data:') elsewhere.push(request.url());
  });
  await page.goto(`${url}/api-docs`);
  await page.getByText('/optimizations/{id}/process').first().waitFor();
  const document = (await (await fetch(`${url}/api/openapi.json`)).json()) as {
    paths: Record<string, object>;
  };
  const operations = Object.values(document.paths).flatMap((path) => Object.keys(path));
  await expect.poll(() => page.locator('.opblock').count()).toBe(operations.length);
  expect(said).toEqual([]);
  expect(elsewhere).toEqual([]);
  await page.close();
});

test('tries a call out at this very server, and shows the answer', async () => {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  await page.goto(`${url}/api-docs`);
  await page.locator('#operations-description-getOpenapiJson button').first().click();
  await page.getByRole('button', { name: 'Try it out' }).click();
  const asked = page.waitForRequest((request) => request.url() === `${url}/api/openapi.json`);
  await page.getByRole('button', { name: 'Execute' }).click();
  expect((await asked).method()).toBe('GET');
  await page.close();
});

test.each([
  { colorScheme: 'light', ground: 'rgba(0, 0, 0, 0)' },
  { colorScheme: 'dark', ground: 'rgb(28, 32, 34)' },
] as const)(
  'follows the theme, $colorScheme, and gives axe no more to complain about than the viewer itself draws',
  async ({ colorScheme, ground }) => {
    const page = await browser.newPage({ viewport: { width: 390, height: 900 }, colorScheme });
    await page.goto(`${url}/api-docs`);
    await page.getByText('/optimizations/{id}/process').first().waitFor();
    const groundOf = () => getComputedStyle(document.documentElement).backgroundColor;
    await expect.poll(() => page.evaluate(groundOf)).toBe(ground);
    const found = await findings(page, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa'] });
    expect(found.filter((each) => !ofTheViewer.has(each.split(': ')[0] ?? ''))).toEqual([]);
    await page.close();
  },
);

test('the guide to the stream and the socket is found from the viewer and from the description', async () => {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  await page.goto(`${url}/api-docs`);
  await page.getByRole('link', { name: 'Live: how to use the stream and the socket' }).click();
  await page.getByRole('heading', { level: 1 }).waitFor();
  const text = readFileSync('docs/live.md', 'utf8');
  const headings = [...text.matchAll(/^#{1,3} (.+)$/gm)].map(([, heading]) => heading);
  await expect.poll(() => page.getByRole('heading').allTextContents()).toEqual(headings);
  const tables = [...text.matchAll(/^\|(?: ?-+ ?\|)+$/gm)].length;
  await expect.poll(() => page.getByRole('table').count()).toBe(tables);
  await expect.poll(() => page.locator('script, style, [style]').count()).toBe(0);
  await page.close();
  const { externalDocs, tags } = (await (await fetch(`${url}/api/openapi.json`)).json()) as {
    externalDocs: { url: string };
    tags: { name: string; externalDocs?: { url: string } }[];
  };
  const found = [externalDocs.url, tags.find(({ name }) => name === 'stream')?.externalDocs?.url];
  expect(found).toEqual(Array(2).fill('https://elsewhere.example/api-docs/live'));
});

test.each([
  { width: 390, colorScheme: 'light' },
  { width: 390, colorScheme: 'dark' },
  { width: 1440, colorScheme: 'light' },
  { width: 1440, colorScheme: 'dark' },
] as const)(
  'the guide is as wide as the window and gives axe nothing to complain about ($width px, $colorScheme)',
  async ({ width, colorScheme }) => {
    const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme });
    const said: string[] = [];
    page.on('console', (message) => {
      if (message.type() === 'error') said.push(message.text());
    });
    await page.goto(`${url}/api-docs/live`);
    const found = await findings(page);
    expect(found).toEqual([]);
    expect(said).toEqual([]);
    await expect.poll(() => page.evaluate(() => document.documentElement.scrollWidth)).toBe(width);
    await page.close();
  },
);

/** Rules that Swagger UI's own markup breaks; the description itself is there without it, too. */
const ofTheViewer: ReadonlySet<string> = new Set([
  'color-contrast',
  'nested-interactive',
  'select-name',
  'target-size',
]);
