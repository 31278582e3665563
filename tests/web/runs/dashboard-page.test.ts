import { setTimeout } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { Usage } from '#services/optimizations/contract.ts';
import {
  balance,
  failing,
  faultsInEveryLook,
  member,
  page as pageOf,
  runId,
  runOf,
  sidewaysScroll,
  stats,
  usage,
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
  // The strip follows the run itself; here it is told what the list says.
  [`GET /api/optimizations/${runId(1)}`]: problem(503, 'busy', 'Busy'),
});

const used = (change: Partial<Usage>) =>
  member({ 'GET /api/optimizations/usage': ok({ ...usage, ...change }) });

describe('the dashboard', () => {
  it('has nothing for axe to complain about and fits, light and dark, wide and narrow', async () => {
    const page = await open('/dashboard', { api: busy });
    await page.getByText('Running: Question 1, 46 %').waitFor();
    expect(await faultsInEveryLook(page)).toEqual([]);
  });

  it('does not scroll sideways at 320 px, also with text twice as large', async () => {
    const page = await open('/dashboard', { width: 320, api: busy });
    await page.getByText('Running: Question 1, 46 %').waitFor();
    await expect.poll(() => sidewaysScroll(page)).toBe(0);
    await page.evaluate(() => document.documentElement.style.setProperty('font-size', '200%'));
    await expect.poll(() => sidewaysScroll(page)).toBe(0);
  });

  it('leads to a page whose heading gets the focus, also when it takes its time', async () => {
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

  it('greets with the first word of the name, else there', async () => {
    const page = await open('/dashboard');
    await expect
      .poll(() => page.locator('h1').innerText())
      .toMatch(/^Good (morning|afternoon|evening), Ada$/);
    const nameless = await open('/dashboard', { api: member({}, '') });
    await expect.poll(() => nameless.locator('h1').innerText()).toMatch(/, there$/);
  });

  it('shows five runs, each with the way on, and leads to all of them', async () => {
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

  it('says of how many runs the success rate is', async () => {
    const page = await open('/dashboard', { api: busy });
    const card = page.getByRole('region', { name: 'Success Rate' });
    await expect.poll(() => card.innerText()).toContain('66 %');
    await expect.poll(() => card.innerText()).toContain('2 of 3 completed');
  });

  it('tells a person who comes first what to do, with questions to begin with', async () => {
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

  it('welcomes once after an address was confirmed', async () => {
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

  it('shows -- and a retry in the one card that failed', async () => {
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

  it('fails as a whole only when everything does, and reads everything again', async () => {
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

describe('the monthly usage', () => {
  it('warns from 80 % in the specified words, and says what is blocked', async () => {
    const page = await open('/dashboard', {
      api: used({ current_month: 9, bonus_used: 4, limit: 5, percentage: 80, can_block: true }),
    });
    const card = page.getByRole('region', { name: 'Monthly Usage' });
    await card.getByText('Approaching Usage Limit').waitFor();
    const text = await card.innerText();
    expect(text).toMatch(/^\s*4\s+of 5 optimizations/m);
    expect(text).toContain('9 optimizations this month, 4 of them with bonus credits.');
    expect(text).toContain(
      "You've used 80% of your monthly optimization limit. Consider upgrading to continue optimizing.",
    );
    expect(text).toContain('The limit only blocks runs that bonus credits would pay for.');
    expect(text).toContain('Free Plan');
    expect(await violations(page)).toEqual([]);
  });

  it('warns nobody whose runs the limit cannot block', async () => {
    const page = await open('/dashboard', {
      api: used({ current_month: 9, bonus_used: 5, limit: 5, percentage: 100, can_block: false }),
    });
    const card = page.getByRole('region', { name: 'Monthly Usage' });
    await card.getByText('of 5 optimizations').waitFor();
    await expect.poll(() => card.getByText('Consider upgrading').count()).toBe(0);
    await expect.poll(() => card.getByText('nearly used up').count()).toBe(0);
  });

  it('says Unlimited and shows no bar without a limit', async () => {
    const page = await open('/dashboard', {
      api: used({ current_month: 400, limit: -1, percentage: null }),
    });
    const card = page.getByRole('region', { name: 'Monthly Usage' });
    await card.getByText('Unlimited').waitFor();
    await expect.poll(() => card.getByRole('progressbar').count()).toBe(0);
    await expect.poll(() => card.getByText('Approaching Usage Limit').count()).toBe(0);
  });
});

describe('the usage of a person that cannot be read', () => {
  it('is --, beside the plan that the session knows, until it is read', async () => {
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
