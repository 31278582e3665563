import { readFile } from 'node:fs/promises';
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import {
  begin,
  cancel,
  closed,
  closedWithout,
  created,
  inReviews,
  inSynthesis,
  noon,
  opinionsOf,
  runId,
  started,
} from '#tests/optimizations/run/run-script.ts';
import { statusOf } from '#services/optimizations/reading/describe.ts';
import { launchBrowser } from '#tests/web/support/browser.ts';
import {
  account,
  faultsInEveryLook,
  page as pageOf,
  runOf,
  violations,
} from '#tests/web/support/member-site.ts';
import { balance, runServer, type RunServer } from '#tests/web/support/run-server.ts';
import { resultStories } from '#tests/web/support/result-stories.ts';
import { type Story, storyOf } from '#tests/web/support/run-story.ts';
import { member, ok, problem, serveSite, sessionOf, type Site } from '#tests/web/support/site.ts';
import { createTabs, type Tabs } from '#tests/web/support/tabs.ts';
import { orderingWords } from '#services/optimizations/reading/words/result.ts';

/**
 * The chamber and the result in a real browser, on a server that streams a run's own events. An error in
 * the console, or a report of the content policy, fails its test.
 */
let browser: Browser;
let site: Site;
let tabs: Tabs;
let consoleErrors: string[] = [];

const whole = storyOf(closed());
const eventsUntil = (script: ReturnType<typeof closed>): number => script.events.length;
const untilStarted = eventsUntil(started());
const untilReviews = eventsUntil(inReviews());
const untilSynthesis = eventsUntil(inSynthesis());
const settled = (captured: number, refunded: number) =>
  ({ type: 'Close', captured, refunded, creditsVersion: 3 }) as const;

beforeAll(async () => {
  [browser, site] = await Promise.all([launchBrowser(), serveSite({ api: member })]);
  tabs = createTabs(browser, site.origin, (context) => {
    context.on('weberror', (error) => consoleErrors.push(error.error().message));
    context.on('console', (message) => {
      if (message.type() === 'error' && !/Failed to load resource|ERR_/.test(message.text()))
        consoleErrors.push(message.text());
    });
  });
});

afterAll(async () => {
  await browser.close();
  await site.close();
});

afterEach(async () => {
  await tabs.reset();
  site.answer(member);
  const unexpected = consoleErrors;
  consoleErrors = [];
  expect(unexpected).toEqual([]);
});

type Options = { width?: number; motion?: 'no-preference' };

/** Without motion by default: the frames of a running chamber are costly. */
async function open(path: string, options: Options = {}): Promise<Page> {
  const page = await tabs.open({ motion: 'reduce', ...options });
  await page.goto(`${site.origin}${path}`);
  return page;
}

async function watch(
  story: Story,
  events: number,
  options: Options = {},
): Promise<{ page: Page; server: RunServer }> {
  const server = runServer(story, events);
  site.answer(server.api);
  const page = await open(`/evolution-chamber?id=${runId}`, options);
  await page.getByText('Connected').waitFor();
  // An ended run needs no stream.
  const isRunning = statusOf(story.view(events)) === 'processing';
  await expect.poll(server.watchers).toBe(isRunning ? 1 : 0);
  return { page, server };
}

describe('the chamber', () => {
  it('the chamber passes axe and fits every window, light and dark', async () => {
    const { page, server } = await watch(whole, untilReviews);
    expect(await faultsInEveryLook(page)).toEqual([]);
    server.publish(whole.facts.length);
    await page.getByText('Result ready').waitFor();
    expect(await violations(page)).toEqual([]);
  });

  it('the chamber and its title follow the run from its first call to its end', async () => {
    const { page, server } = await watch(whole, untilStarted);
    await page.getByRole('heading', { level: 1, name: whole.copy(1).challenge }).waitFor();
    await page
      .getByText(
        "Simulated. A prepared case, 'Should I raise my prices?', stands in for your question.",
      )
      .waitFor();
    await page.getByText('I charge $240. Should I charge *$290*?').waitFor();
    await expect.poll(() => page.title()).toBe('0% · Evolution Chamber');
    server.publish(untilReviews);
    await page.getByText('7 answered', { exact: true }).waitFor();
    await expect.poll(() => page.title()).toMatch(/^4\d% · Evolution Chamber$/);
    server.publish(whole.facts.length);
    await page.getByRole('link', { name: 'View results' }).waitFor();
    await expect.poll(() => page.title()).toBe('Done · Evolution Chamber');
    await page.getByText('14 credits were charged.').waitFor();
  });

  it('the words of a model appear as they arrive, as plain text', async () => {
    const story = storyOf(started().given(begin('opinion.S1', 1, noon)));
    const { page, server } = await watch(story, story.facts.length);
    server.say({
      run: runId,
      seat: 'S1',
      slot: 'opinion.S1',
      attempt: 1,
      offset: 0,
      text: 'Begin **small** <img src=x onerror=alert(1)>',
      progress: 50,
    });
    const card = page.getByRole('listitem').filter({ hasText: 'Writing an answer' });
    const words = page.getByRole('region', { name: 'Words of S1' });
    await words.getByText('Begin **small** <img src=x onerror=alert(1)>').waitFor();
    await expect.poll(() => card.getByRole('progressbar').getAttribute('value')).toBe('24');
  });

  it.each([1280, 390])('nothing moves during the run or when it ends, %i px', async (width) => {
    const { page, server } = await watch(whole, untilStarted, {
      width,
      motion: 'no-preference',
    });
    await page.evaluate(() => {
      const shifts = globalThis as unknown as { shifted: number };
      shifts.shifted = 0;
      new PerformanceObserver((list) => {
        for (const entry of list.getEntries())
          shifts.shifted += (entry as unknown as { value: number }).value;
      }).observe({ type: 'layout-shift' });
    });
    for (let events = untilStarted + 1; events <= whole.facts.length; events += 1) {
      server.publish(events);
      // Long enough to draw each change separately.
      await page.waitForTimeout(30);
    }
    await page.waitForTimeout(300);
    const shifted = await page.evaluate(
      () => (globalThis as unknown as { shifted: number }).shifted,
    );
    expect(shifted).toBeLessThanOrEqual(0.01);
  });

  it('the chamber says that it can be closed, and turns on the email of a run that ends', async () => {
    const server = runServer(whole, untilStarted);
    const profile = { ...sessionOf().user, ...account };
    let isWanted = false;
    site.answer((call) => {
      if (call.path !== '/api/users/me') return server.api(call);
      if (call.method === 'PATCH') isWanted = true;
      return ok({ ...profile, notify_run_finished: isWanted });
    });
    const page = await open(`/evolution-chamber?id=${runId}`);
    await page.getByText('its result will be on your dashboard').waitFor();
    await page.getByRole('button', { name: 'Email me when a run ends' }).click();
    await page.getByText("The run continues, and we'll email you when it ends.").waitFor();
    expect(site.calls.findLast(({ method }) => method === 'PATCH')?.body).toEqual({
      notify_run_finished: true,
    });
    server.publish(whole.facts.length);
    await page.getByText('14 credits were charged.').waitFor();
    expect(await page.getByText('You can close this page').count()).toBe(0);
  });

  it('the chamber catches up after the stream broke off, from its last id', async () => {
    const { page, server } = await watch(whole, untilStarted);
    server.cut();
    await page.getByText(/^Reconnecting\. Last update \d+s ago\.$/).waitFor();
    server.publish(untilSynthesis);
    await page.getByText('Connected').waitFor();
    await page.getByText('7 answered', { exact: true }).waitFor();
    expect(server.resumed.at(-1)).toBe(`e.1.${untilStarted}`);
    server.publish(whole.facts.length);
    await page.getByText('Result ready').waitFor();
  });

  it('a seat opens in a dialog that returns the focus, and three answers are compared claim by claim', async () => {
    const { page } = await watch(whole, whole.facts.length);
    await page.getByRole('button', { name: /read S1$/ }).click();
    const opener = page.getByRole('button', { name: 'Details of S1' });
    await opener.click();
    const dialog = page.getByRole('dialog', { name: 'Seat S1' });
    await dialog.getByText('S1 weighs the risk first.').waitFor();
    for (const name of ['Scores received', 'Scores given', 'Calls and retries'])
      await dialog.getByRole('heading', { name }).waitFor();
    expect(await violations(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'hidden' });
    await expect
      .poll(() => opener.evaluate((element) => element === document.activeElement))
      .toBe(true);

    await page.getByRole('button', { name: 'Compare', exact: true }).click();
    const comparison = page.getByRole('dialog', { name: 'Compare answers' });
    // One of each role to begin with.
    await comparison.getByRole('table', { name: 'S1, R1 and I1 side by side' }).waitFor();
    await comparison.getByText('S1 would begin small.').waitFor();
    await comparison.getByText('c1 The claim c1 holds.').waitFor();
    expect(await violations(page)).toEqual([]);
  });

  it('the braid can be shown as a table', async () => {
    const { page } = await watch(whole, untilReviews);
    await page.getByRole('img', { name: '7 models, no votes counted.' }).waitFor();
    await page.getByRole('button', { name: 'Show as table' }).click();
    await expect.poll(() => page.getByRole('row').count()).toBe(8);
  });

  it('a hidden bias panel stays hidden, and the page says that the run measures anyway', async () => {
    const { page } = await watch(whole, whole.facts.length);
    await page.getByText('Agreement is not correctness.').waitFor();
    await page.getByLabel('Show', { exact: true }).uncheck();
    await page.getByText('Hidden from view. The run still measures it.').waitFor();
    await page.reload();
    await page.getByText('Hidden from view. The run still measures it.').waitFor();
  });

  it('a run in synthesis offers no cancellation', async () => {
    const { page } = await watch(whole, untilSynthesis);
    await page
      .getByText("The recommendation is being written, so it's too late to cancel.")
      .waitFor();
    await expect.poll(() => page.getByRole('button', { name: 'Cancel' }).count()).toBe(0);
  });

  it('a cancellation states its cost first, and leads to the page of the run once the ledger has the credits', async () => {
    const script = started()
      .answered(opinionsOf(['S1']))
      .given(cancel, settled(14, 7));
    const story = storyOf(script);
    const { page, server } = await watch(story, story.facts.length - 2);
    await page.getByRole('button', { name: 'Cancel', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'Cancel this run?' });
    await dialog.getByText("Models are working. You'll get 7 of 14 credits back.").waitFor();
    expect(await violations(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Cancel run' }).click();
    await dialog.getByRole('button', { name: 'Cancelling...' }).waitFor();
    server.publish(story.facts.length);
    await page.waitForURL(`**/optimizations/${runId}`);
    const notices = page.getByRole('region', { name: 'Notifications' });
    await notices.getByText('7 credits returned to your balance.').waitFor();
    await page.getByText('You canceled this run', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Copy as Markdown' }).waitFor();
  });

  it('a run that could not be cancelled is shown to continue', async () => {
    const story = storyOf(started().answered(opinionsOf(['S1'])));
    const { page, server } = await watch(story, story.facts.length);
    server.answerCommands(problem(503, 'busy', 'The server is busy.'));
    const cancelRun = page.getByRole('button', { name: 'Cancel run' });
    await page.getByRole('button', { name: 'Cancel', exact: true }).click();
    await cancelRun.click();
    await page.getByText('Failed to cancel optimization').first().waitFor();
    await page.getByText('The run is still going.').waitFor();
    // Only what a repeat can cure may be repeated.
    server.answerCommands(problem(409, 'finishing', 'The recommendation is being written.'));
    await cancelRun.click();
    await cancelRun.waitFor({ state: 'detached' });
  });

  it('an address without an id leads to the running run', async () => {
    site.answer(runServer(whole, untilReviews).api);
    const page = await open('/evolution-chamber');
    await page.waitForURL(`**/evolution-chamber?id=${runId}`);
    await page.getByText('Connected').waitFor();
  });

  it('an address without an id leads to a refinement that is running', async () => {
    const { api } = runServer(whole, whole.facts.length);
    const refining = 'opt_00000000000000000000000007';
    site.answer((call) =>
      call.path === '/api/optimizations'
        ? pageOf([runOf(1, { running_refinement_id: refining })])
        : api(call),
    );
    const opened = await open('/evolution-chamber');
    await opened.waitForURL(`**/evolution-chamber?id=${refining}`);
  });

  it('an address without an id leads to the form when no run is running', async () => {
    site.answer(runServer(whole, whole.facts.length).api);
    const page = await open('/evolution-chamber');
    await page.waitForURL('**/optimization');
  });

  it('an unknown run is a page that does not exist', async () => {
    site.answer(runServer(whole, 1).api);
    const page = await open('/evolution-chamber?id=opt_00000000000000000000000009');
    await page.getByRole('heading', { name: "We can't find that page" }).waitFor();
  });

  it('a run that cannot be loaded is retried', async () => {
    const server = runServer(whole, untilReviews);
    let broken = true;
    site.answer((call) =>
      broken && call.path.startsWith('/api/optimizations/')
        ? problem(503, 'unavailable', 'Later')
        : server.api(call),
    );
    const page = await open(`/evolution-chamber?id=${runId}`);
    await page.getByText('Failed to load optimization data').first().waitFor();
    broken = false;
    await page.getByText('Connected').waitFor();
    await page.getByText('7 answered', { exact: true }).waitFor();
  });
});

describe('the stream of a tab', () => {
  it('the stream keeps the credits in the bar current', async () => {
    const { page, server } = await watch(whole, untilReviews);
    await page.getByText('86 credits').first().waitFor();
    server.publishBalance({ ...balance, available_credits: 100, reserved_credits: 0 });
    await page.getByText('100 credits').first().waitFor();
  });

  it('the stream closes while a tab with an ended run is hidden, and reopens when it is shown', async () => {
    const { page, server } = await watch(whole, untilReviews);
    await setHidden(page, true);
    await page.waitForTimeout(200);
    expect(server.listening()).toBe(1);
    server.publish(whole.facts.length);
    await page.getByText('Result ready').waitFor();
    await setHidden(page, false);
    await setHidden(page, true);
    await expect.poll(server.listening).toBe(0);
    await setHidden(page, false);
    await expect.poll(server.listening).toBe(1);
  });

  it('polling every 5 s replaces the stream once it was down for 20 s', async () => {
    const server = runServer(whole, untilStarted);
    let isDown = false;
    site.answer((call) =>
      isDown && call.path === '/api/stream'
        ? problem(503, 'unavailable', 'The server is starting')
        : server.api(call),
    );
    const page = await tabs.open({ motion: 'reduce' }, { isFresh: true });
    await page.clock.install();
    await page.goto(`${site.origin}/evolution-chamber?id=${runId}`);
    await page.getByText('Connected').waitFor();
    // A second at a time, so that what is under way never seems to take long.
    const passUntil = async (words: Locator): Promise<void> => {
      await expect
        .poll(async () => {
          await page.clock.runFor(1_000);
          return words.count();
        })
        .toBeGreaterThan(0);
    };
    const now = () => page.evaluate(() => Date.now());
    const downAt = await now();
    isDown = true;
    server.cut();
    await passUntil(page.getByText('Error: The server is starting'));
    server.publish(untilSynthesis);
    await passUntil(page.getByText('7 answered', { exact: true }));
    expect((await now()) - downAt).toBeGreaterThanOrEqual(20_000);
    server.publish(whole.facts.length);
    await passUntil(page.getByText('Result ready'));
  });

  async function setHidden(page: Page, hidden: boolean): Promise<void> {
    await page.evaluate((isHidden) => {
      Object.defineProperty(document, 'hidden', { configurable: true, get: () => isHidden });
      document.dispatchEvent(new Event('visibilitychange'));
    }, hidden);
  }
});

describe('the result', () => {
  async function read(story: Story, events = story.facts.length, options: Options = {}) {
    const server = runServer(story, events);
    site.answer(server.api);
    const page = await open(`/optimizations/${runId}`, options);
    return { page, server };
  }

  it.each([
    ['with advice', whole],
    ['without a majority', resultStories.split],
    ['that cannot be decided', resultStories.undecidable],
  ])('the result %s passes axe and fits every window, light and dark', async (_kind, story) => {
    const { page } = await read(story);
    await page.getByRole('heading', { name: 'Next steps' }).waitFor();
    // Folded parts are checked as well.
    await page.evaluate(() => {
      for (const details of document.querySelectorAll('details')) details.open = true;
    });
    expect(await faultsInEveryLook(page)).toEqual([]);
  });

  it('the result gives answer, reasons and machinery in this order, and statements link to their claims', async () => {
    site.answer(runServer(whole, whole.facts.length).api);
    const page = await open(`/optimization/${runId}`);
    await page.waitForURL(`**/optimizations/${runId}`);
    await page.getByText('Begin with one fixed offer for one kind of client.').waitFor();
    await expect
      .poll(() => page.getByRole('heading', { level: 2 }).allInnerTexts())
      .toEqual([
        'Recommended by 7 of 7 models',
        'Agreement',
        'Next steps',
        'What would change this',
        'Reasons',
        'Consensus points',
        'Divergences',
        "What's uncertain",
        'How this was reached',
      ]);
    await page
      .getByText(
        "Simulated. A prepared case, 'Should I raise my prices?', stands in for your question.",
      )
      .waitFor();
    const computed = orderingWords(whole.copy().evolution.bias!);
    // The sheet for print has the same words, hidden on a screen.
    const beside = page.getByRole('region', { name: 'Agreement' }).getByText(computed);
    expect(await beside.isVisible()).toBe(false);
    await page.getByText('How this is computed', { exact: true }).click();
    await beside.waitFor();
    await expect
      .poll(() => page.getByRole('link', { name: 'Duplicate' }).getAttribute('href'))
      .toBe(`/optimization?from=${runId}`);
    await page.getByRole('link', { name: 'c2' }).first().click();
    expect(new URL(page.url()).hash).toBe('#claim-c2');
    await expect.poll(() => page.locator('#claim-c2').isVisible()).toBe(true);
  });

  it('a step is ticked by keyboard and stays ticked; a tick that was not saved is taken back', async () => {
    const run = whole.copy();
    let done = false;
    let isFailing = false;
    site.answer((call) => {
      if (call.method === 'PUT') {
        if (isFailing) return problem(503, 'busy', 'The server is busy.');
        ({ done } = call.body as { done: boolean });
        return ok({ index: 0, done });
      }
      if (call.path !== `/api/optimizations/${runId}`) return member(call);
      const steps = run.result!.next_steps.map((step) => ({ ...step, done }));
      return ok({ ...run, result: { ...run.result!, next_steps: steps } });
    });
    const page = await open(`/optimizations/${runId}`);
    const box = page.getByRole('checkbox', { name: 'Step 1 done' });
    const isTicked = () => box.isChecked();
    await box.press('Space');
    await page.locator('output').getByText('Saved. 1 of 1 done.').waitFor();
    await expect.poll(isTicked).toBe(true);
    await page.reload();
    await page.getByText('1 of 1 done.', { exact: true }).waitFor();
    await expect.poll(isTicked).toBe(true);
    isFailing = true;
    await box.press('Space');
    await page.getByRole('alert').getByText("We couldn't save step 1.").waitFor();
    await expect.poll(isTicked).toBe(true);
    await expect.poll(() => box.evaluate((input) => input === document.activeElement)).toBe(true);
    expect(await violations(page)).toEqual([]);
  });

  it('the result can be copied and downloaded as Markdown, and downloaded as JSON', async () => {
    const { page } = await read(whole);
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.getByRole('button', { name: 'Copy as Markdown' }).click();
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    expect(copied).toMatch(/^# Should the agency sell a fixed offer\?/);
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'JSON' }).click(),
    ]);
    expect(file.suggestedFilename()).toBe(`${runId}.json`);
  });

  it('the evidence is downloaded as a file; a failure says so beside the button', async () => {
    const pack = '{"kind":"manifest"}\n';
    let isFailing = true;
    const { api } = runServer(whole, whole.facts.length);
    site.answer((call) => {
      if (call.path !== `/api/optimizations/${runId}/evidence`) return api(call);
      if (isFailing) return problem(409, 'running', "The run hasn't ended.");
      const headers = { 'content-type': 'application/x-ndjson; charset=utf-8' };
      return { status: 200, body: new Blob([pack]).stream(), headers };
    });
    const page = await open(`/optimizations/${runId}`);
    const part = page.getByRole('region', { name: 'Evidence' });
    await part.getByText('Anyone who has it can read your question').waitFor();
    const button = part.getByRole('button', { name: 'Download evidence' });
    await button.press('Enter');
    await part.getByText("We couldn't create the file. The run hasn't ended.").waitFor();
    isFailing = false;
    const [file] = await Promise.all([page.waitForEvent('download'), button.press('Enter')]);
    expect(file.suggestedFilename()).toBe(`sevenfold-${runId}.evidence.ndjson`);
    expect(await readFile(await file.path(), 'utf8')).toBe(pack);
    expect(await violations(page)).toEqual([]);
  });

  it('the page of a running run shows its progress and becomes the result', async () => {
    const { page, server } = await read(whole, untilReviews);
    await page.getByRole('link', { name: 'View Progress' }).waitFor();
    await page.getByText('Connected').waitFor({ state: 'detached' });
    await expect.poll(() => server.resumed.length).toBeGreaterThan(0);
    server.publish(whole.facts.length);
    await page.getByRole('heading', { name: 'Recommended by 7 of 7 models' }).waitFor();
  });

  it('the page of a run that was never started offers to start or delete it', async () => {
    const story = storyOf(created());
    const { page, server } = await read(story);
    await page.getByText("haven't been charged. It costs 14 credits.").waitFor();
    await page.getByRole('button', { name: 'Delete' }).waitFor();
    server.answerCommands(
      problem(402, 'insufficient-credits', 'You need 14 credits to run this optimization.'),
    );
    await page.getByRole('button', { name: 'Start' }).click();
    await page.getByText('Insufficient Credits').waitFor();
    await page.getByRole('link', { name: 'View Credit Balance' }).waitFor();
  });

  it('the result of a run without a model says so above the decision', async () => {
    const { page } = await read(storyOf(closedWithout(['I2'], 'malformed', 2)));
    const banner = page.getByText('6 of 7 models answered');
    await banner.waitFor();
    await page.getByText('2 of 14 credits were returned.').waitFor();
    const heading = page.getByRole('heading', { name: 'Recommended by' });
    const [above, below] = await Promise.all([banner.boundingBox(), heading.boundingBox()]);
    expect(above?.y).toBeLessThan(below?.y ?? 0);
  });

  it('the page of a cancelled run says what was returned, and shows the answers that arrived', async () => {
    const script = started()
      .answered(opinionsOf(['S1']))
      .given(cancel, settled(14, 7));
    const { page } = await read(storyOf(script));
    await page.getByText('7 of 14 credits were charged, 7 returned.').waitFor();
    await page.getByText('1 of 7 models had answered.').waitFor();
    await page.getByText('S1 would begin small.').waitFor();
    expect(await faultsInEveryLook(page)).toEqual([]);
  });

  it('the page of a failed run says why, what it cost, and offers a retry', async () => {
    const failed = started().died(opinionsOf(['S1', 'S2', 'S3', 'R1', 'R2', 'I1', 'I2']));
    const { page } = await read(storyOf(failed.given(settled(0, 0))));
    await page.getByText("You weren't charged. 14 credits were returned.").waitFor();
    const retry = page.getByRole('link', { name: 'Retry' });
    await expect.poll(() => retry.getAttribute('href')).toBe(`/optimization?from=${runId}`);
  });
});
