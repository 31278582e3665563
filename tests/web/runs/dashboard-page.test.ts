import { readFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import type { Locator, Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import {
  account,
  balance,
  brief,
  failing,
  faultsInEveryLook,
  member,
  page as pageOf,
  runId,
  runOf,
  stats,
  useMemberSite,
  violations,
} from '#tests/web/support/member-site.ts';
import { type Api, type Call, ok, problem, sessionOf } from '#tests/web/support/site.ts';

const { open, site } = useMemberSite();

/** Opens the dashboard with a clock that `passUntil` moves. */
const openFailing = async (api: Api): Promise<Page> =>
  open('/dashboard', { api, prepare: async (made) => made.clock.install() });

/** The waits between the attempts of a read pass at once. */
async function passUntil(page: Page, words: Locator): Promise<void> {
  await expect
    .poll(async () => {
      await page.clock.runFor(300);
      return words.count();
    })
    .toBeGreaterThan(0);
}

const sixRuns = [
  runOf(1, {
    status: 'processing',
    progress: 46,
    agreement_score: null,
    credits: { price: 14, reserved: 14, charged: null, refunded: null, settlement: 'held' },
  }),
  runOf(2),
  runOf(3, {
    status: 'failed',
    agreement_score: null,
    credits: { price: 14, reserved: 0, charged: 7, refunded: 7, settlement: 'settled' },
  }),
  runOf(4, { simulated: false, simulated_seats: 0 }),
  runOf(5, { status: 'cancelled' }),
  runOf(6, { status: 'pending' }),
];
const busy = member({
  'GET /api/optimizations': pageOf(sixRuns),
  // The active run is loaded separately; here the list's own figures are enough.
  [`GET /api/optimizations/${runId(1)}`]: problem(503, 'busy', 'Busy'),
});

describe('the dashboard', () => {
  it('the dashboard passes axe and fits every window, light and dark', async () => {
    const page = await open('/dashboard', { api: busy });
    await page.getByText('Running: Question 1, 46%').waitFor();
    expect(await faultsInEveryLook(page)).toEqual([]);
  });

  it('a refinement in progress has a strip and a link beside the result of its run', async () => {
    const running = runOf(2, { running_refinement_id: runId(9) });
    const page = await open('/dashboard', {
      api: member({
        'GET /api/optimizations': pageOf([running]),
        [`GET /api/optimizations/${runId(9)}`]: problem(503, 'busy', 'Busy'),
      }),
    });
    await page.getByText('Running: Question 2, 0%').waitFor();
    const rows = page.getByRole('region', { name: 'Recent optimizations' }).getByRole('listitem');
    const links = rows.getByRole('link');
    const targets = async () =>
      Promise.all((await links.all()).map(async (link) => link.getAttribute('href')));
    await expect
      .poll(targets)
      .toEqual([`/evolution-chamber?id=${runId(9)}`, `/optimizations/${runId(2)}`]);
    expect(await violations(page)).toEqual([]);
  });

  it('a link focuses the heading of its page, also when the page loads slowly', async () => {
    const page = await open('/dashboard', { api: busy });
    await page.route(`**/api/optimizations/${runId(2)}`, async (route) => {
      await setTimeout(600);
      await route.continue();
    });
    await page.getByRole('link', { name: /View Results.*Question 2/ }).click();
    await page.waitForURL(`**/optimizations/${runId(2)}`);
    await page.locator('main h1').waitFor();
    await expect.poll(async () => page.evaluate(() => document.activeElement?.tagName)).toBe('H1');
  });

  it('the dashboard shows five runs with their links, and links to all of them', async () => {
    const page = await open('/dashboard', { api: busy });
    const rows = page.getByRole('region', { name: 'Recent optimizations' }).getByRole('listitem');
    await expect.poll(() => rows.count()).toBe(5);
    const row = (number: number) => rows.filter({ hasText: `Question ${number}` });
    const link = async (number: number) => {
      const found = row(number).getByRole('link');
      return [(await found.innerText()).split(/[:\n]/)[0], await found.getAttribute('href')];
    };
    await expect
      .poll(() => link(1))
      .toEqual(['View Progress', `/evolution-chamber?id=${runId(1)}`]);
    await expect.poll(() => link(2)).toEqual(['View Results', `/optimizations/${runId(2)}`]);
    await expect.poll(() => link(3)).toEqual(['View Details', `/optimizations/${runId(3)}`]);
    await expect.poll(() => row(2).innerText()).toContain('Agreement 82, strong');
    await expect.poll(() => row(3).innerText()).toContain('7 of 14 credits, 7 returned');
    await expect.poll(() => row(2).getByText('Simulated').count()).toBe(1);
    await expect.poll(() => row(4).getByText('Simulated').count()).toBe(0);
    await page.getByRole('link', { name: 'View all (6)' }).click();
    await page.getByRole('heading', { name: 'Your optimizations' }).waitFor();
    await expect.poll(() => page.getByText('Question 6', { exact: true }).count()).toBe(1);
  });

  it('a user without runs sees the first steps and example questions', async () => {
    const page = await open('/dashboard', {
      api: member({
        'GET /api/optimizations': pageOf([]),
        'GET /api/credits/balance': ok({ ...balance, available_credits: 0 }),
        'GET /api/users/me/stats': ok({
          ...stats,
          success_rate: null,
          completed_optimizations: 0,
          failed_optimizations: 0,
          average_cost_per_optimization: null,
        }),
      }),
    });
    await page.getByRole('heading', { name: 'Get started' }).waitFor();
    await page.getByRole('link', { name: 'Get credits' }).waitFor();
    for (const card of ['Success Rate', 'Avg Cost'])
      await expect.poll(() => page.getByRole('region', { name: card }).innerText()).toContain('—');
    expect(await violations(page)).toEqual([]);
    await page.getByRole('link', { name: /first salesperson/ }).click();
    await expect
      .poll(() => page.getByLabel('What business challenge are you facing?').inputValue())
      .toContain('first salesperson');
  });

  it('a confirmed address is welcomed once', async () => {
    const page = await open('/dashboard?confirmed=true');
    await page.getByText('Email confirmed successfully!').first().waitFor();
    await page.getByText('Your account is now active. Welcome to Sevenfold!').waitFor();
    await expect.poll(() => page.url()).toBe(`${site().origin}/dashboard`);
    await page.getByRole('button', { name: 'Dismiss' }).click();
    await expect.poll(() => page.getByText('Your account is now active.').count()).toBe(0);
    await page.reload();
    await page.locator('h1').waitFor();
    await expect.poll(() => page.getByText('Your account is now active.').count()).toBe(0);
  });

  it('a card that failed shows -- and a retry, beside what the session knows', async () => {
    let isDown = true;
    const whole = member();
    const failed = ['/api/credits/balance', '/api/optimizations/usage'];
    const page = await openFailing((call) =>
      isDown && failed.includes(call.path) ? failing : whole(call),
    );
    const credits = page.getByRole('region', { name: 'Credit Balance' });
    const runs = page.getByRole('region', { name: 'Monthly Usage' });
    await passUntil(page, credits.getByText('--', { exact: true }));
    await passUntil(page, runs.getByText('of -- optimizations'));
    await expect.poll(() => runs.innerText()).toContain('Free Plan');
    await page.getByText('Question 1', { exact: true }).waitFor();
    expect(await violations(page)).toEqual([]);
    isDown = false;
    for (const card of [credits, runs])
      await card.getByRole('button', { name: 'Try Again' }).click();
    await expect.poll(() => credits.innerText()).toContain('86');
    await runs.getByText('of 5 optimizations on bonus credits', { exact: true }).waitFor();
  });

  it('the dashboard fails as a whole only when everything does, and a retry reads everything again', async () => {
    let isDown = true;
    const whole = member();
    const page = await openFailing((call) =>
      isDown && !call.path.includes('/auth/') ? failing : whole(call),
    );
    await passUntil(page, page.getByText('Failed to load dashboard data. Please try again.'));
    isDown = false;
    await page.getByRole('button', { name: 'Try Again' }).click();
    await page.getByText('Question 1', { exact: true }).waitFor();
    await expect
      .poll(() => page.locator('main').getByText('Error Loading Dashboard').count())
      .toBe(0);
  });
});

describe('the elite dashboard', () => {
  const profile = { ...sessionOf().user, ...account };
  const keeping = () => {
    let kept: object = { ...profile, preferred_dashboard: null };
    return {
      'GET /api/auth/session': () => ok({ ...sessionOf(), user: kept }),
      'GET /api/users/me': () => ok(kept),
      'PATCH /api/users/me': ({ body }: Call) => {
        kept = { ...kept, ...(body as object) };
        return ok(kept);
      },
    };
  };

  it('the elite dashboard comes first, passes axe, and leads to the run, the brief and a result', async () => {
    const page = await open('/dashboard', {
      api: member({
        ...keeping(),
        'GET /api/optimizations': pageOf(sixRuns),
        [`GET /api/optimizations/${runId(1)}`]: problem(503, 'busy', 'Busy'),
        'GET /api/users/me/stats': ok({ ...stats, average_minutes: 5, timed_optimizations: 3 }),
      }),
    });
    const part = (name: string) => page.getByRole('region', { name, exact: true });
    await expect.poll(() => part('Speed').innerText()).toContain('96x');
    await part('Speed').getByText("How it's computed").click();
    await part('Speed')
      .getByText(/480 minutes \(an 8-hour day\) ÷ 5 minutes/)
      .waitFor();
    await expect
      .poll(() => part('Competitive Intelligence').innerText())
      .toContain('A lower price loses the buyers who pay most.');
    await part('Elite Community Insights').getByText('Not enough shared results yet').waitFor();
    const recent = part('Recent orchestrations');
    await expect.poll(() => recent.getByRole('listitem').count()).toBe(4);
    await recent.getByText('View all (6)').waitFor();
    const chamber = `/evolution-chamber?id=${runId(1)}`;
    for (const name of ['Evolution Chamber', 'Launch Evolution Chamber'])
      await expect
        .poll(() => page.getByRole('link', { name, exact: true }).getAttribute('href'))
        .toBe(chamber);
    expect(await violations(page)).toEqual([]);
    await page.getByRole('link', { name: 'Intelligence Brief' }).click();
    await page.getByRole('heading', { level: 1, name: 'Intelligence Brief' }).waitFor();
  });

  it('the switch is stored, works with the keyboard, and survives a reload', async () => {
    const page = await open('/dashboard', { api: member(keeping()) });
    await page.getByRole('radio', { name: 'Elite', checked: true }).focus();
    await page.keyboard.press('ArrowLeft');
    await page.getByRole('heading', { name: 'Monthly Usage' }).waitFor();
    await expect
      .poll(() =>
        site()
          .calls.filter(({ method }) => method === 'PATCH')
          .map(({ body }) => body),
      )
      .toEqual([{ preferred_dashboard: 'standard' }]);
    await page.reload();
    await page.getByRole('heading', { name: 'Monthly Usage' }).waitFor();
    await page.getByRole('radio', { name: 'Standard', checked: true }).waitFor();
  });

  it('a choice that cannot be stored still shows, and the page says so', async () => {
    const page = await open('/dashboard', { api: member({ 'PATCH /api/users/me': failing }) });
    await page.getByText('Elite', { exact: true }).click();
    await page
      .getByText(/We couldn't save your choice/)
      .first()
      .waitFor();
    await page.getByRole('heading', { name: 'Competitive Intelligence' }).waitFor();
  });

  it('sharing is off until it is switched on, and says what is shared', async () => {
    const page = await open('/dashboard', { api: member(keeping()) });
    const share = page.getByRole('checkbox', { name: 'Share my results with the community' });
    await expect.poll(() => share.isChecked()).toBe(false);
    await page.getByText(/Never your questions, answers, or name\./).waitFor();
    await share.click();
    await expect
      .poll(() =>
        site()
          .calls.filter(({ method }) => method === 'PATCH')
          .map(({ body }) => body),
      )
      .toEqual([{ shares_statistics: true }]);
  });

  it('without a run about competitors the card starts one', async () => {
    const page = await open('/dashboard', {
      api: member({ ...keeping(), 'GET /api/optimizations/competitive': ok({ run: null }) }),
    });
    await page.getByRole('link', { name: 'Ask about competitors' }).click();
    await expect
      .poll(() => page.getByLabel('What business challenge are you facing?').inputValue())
      .toContain('our closest competitors');
  });

  it('the elite dashboard fails as a whole only when everything does', async () => {
    let isDown = true;
    const whole = member(keeping());
    const page = await openFailing((call) =>
      isDown && !call.path.includes('/auth/') && call.path !== '/api/users/me'
        ? failing
        : whole(call),
    );
    await passUntil(page, page.getByText('Error Loading Dashboard'));
    isDown = false;
    await page.getByRole('button', { name: 'Try Again' }).click();
    await page.getByRole('heading', { name: 'Competitive Intelligence' }).waitFor();
  });
});

describe('the brief', () => {
  it('the brief shows the decisions of 30 days, and downloads what it shows as Markdown', async () => {
    const page = await open('/dashboard/brief');
    await page.getByText('2 completed, 1 failed, refinements and deleted runs included.').waitFor();
    await page.getByText('October 25 to November 24, 2026').waitFor();
    const shown = [brief.runs[0]!.decision, 'Offer the guarantee to 10 buyers.', 'and 3 more'];
    for (const text of shown) await page.getByText(text).waitFor();
    expect(await violations(page)).toEqual([]);
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download Markdown' }).click(),
    ]);
    expect(download.suggestedFilename()).toBe('sevenfold-brief-2026-11-24.md');
    const text = readFileSync(await download.path(), 'utf8');
    for (const part of shown) expect(text).toContain(part);
  });

  it('an empty brief says what will be there and starts a run', async () => {
    const page = await open('/dashboard/brief', {
      api: member({
        'GET /api/optimizations/brief': ok({
          ...brief,
          runs: [],
          completed: 0,
          failed: 0,
          credits: 0,
        }),
      }),
    });
    await page.getByText(/Decisions of the last 30 days appear here/).waitFor();
    await expect.poll(() => page.getByRole('button', { name: /Markdown|Print/ }).count()).toBe(0);
    await page.locator('main').getByRole('link', { name: 'New Optimization' }).click();
    await page.waitForURL('**/optimization');
  });
});
