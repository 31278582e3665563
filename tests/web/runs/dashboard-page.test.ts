import { setTimeout } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import {
  balance,
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
import { ok, problem } from '#tests/web/support/site.ts';

const { open, site } = useMemberSite();

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
    expect(await faultsInEveryLook(page)).toEqual([]);
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
    await page.getByRole('heading', { name: 'What to do first' }).waitFor();
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

  it('a card that failed shows -- and a retry', async () => {
    let isDown = true;
    const page = await open('/dashboard', {
      api: member({ 'GET /api/credits/balance': () => (isDown ? failing : ok(balance)) }),
    });
    const card = page.getByRole('region', { name: 'Credit Balance' });
    await card.getByText('--', { exact: true }).waitFor();
    await page.getByText('Question 1', { exact: true }).waitFor();
    expect(await violations(page)).toEqual([]);
    isDown = false;
    await card.getByRole('button', { name: 'Try Again' }).click();
    await expect.poll(() => card.innerText()).toContain('86');
  });

  it('the dashboard fails as a whole only when everything does, and a retry reads everything again', async () => {
    let isDown = true;
    const whole = member();
    const page = await open('/dashboard', {
      api: (call) => (isDown && !call.path.includes('/auth/') ? failing : whole(call)),
    });
    await page.getByText('Failed to load dashboard data. Please try again.').first().waitFor();
    isDown = false;
    await page.getByRole('button', { name: 'Try Again' }).click();
    await page.getByText('Question 1', { exact: true }).waitFor();
    await expect
      .poll(() => page.locator('main').getByText('Error Loading Dashboard').count())
      .toBe(0);
  });
});

describe('the usage of a person that cannot be read', () => {
  it('usage that cannot be read shows --, beside the plan that the session knows', async () => {
    let isDown = true;
    const whole = member();
    const page = await open('/dashboard', {
      api: (call) => (isDown && call.path === '/api/optimizations/usage' ? failing : whole(call)),
    });
    const card = page.getByRole('region', { name: 'Monthly Usage' });
    await card.getByText('of -- optimizations').waitFor();
    await expect.poll(() => card.innerText()).toContain('Free Plan');
    isDown = false;
    await card.getByRole('button', { name: 'Try Again' }).click();
    await card.getByText('of 5 optimizations').waitFor();
  });
});
