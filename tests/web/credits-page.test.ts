import { describe, expect, it } from 'vitest';
import {
  analytics,
  balance,
  eventually,
  failing,
  lineOf,
  member,
  runId,
  sidewaysScroll,
  themes,
  useMemberSite,
  violations,
  widths,
} from './member-site.ts';
import { ok } from './site.ts';

const local = useMemberSite();
const lines = (count: number, first = 1) =>
  Array.from({ length: count }, (_, index) => lineOf(first + index));

const empty = member({
  'GET /api/credits/balance': ok({
    available_credits: 0,
    reserved_credits: 0,
    debt_credits: 0,
    total_purchased: 0,
    total_consumed: 0,
    total_credits: 0,
    used_credits: 0,
  }),
  'GET /api/credits/analytics': ok({
    ...analytics,
    monthly_consumption: 0,
    consumption_by_month: analytics.consumption_by_month.map(({ month }) => ({
      month,
      credits: 0,
    })),
    average_cost_per_optimization: null,
    completed_optimizations: 0,
    total_consumed: 0,
    most_used_models: [],
  }),
  'GET /api/credits/history': ok([]),
});

describe('the credits page', () => {
  it.each(themes.flatMap((theme) => widths.map((width) => ({ theme, width }))))(
    'has nothing for axe to complain about, $theme at $width px',
    async ({ theme, width }) => {
      const page = await local.open('/credits', {
        theme,
        width,
        api: member({
          'GET /api/credits/balance': ok({ ...balance, reserved_credits: 14, debt_credits: 3 }),
          'GET /api/credits/history': ok([
            lineOf(1),
            lineOf(2, { transaction_type: 'refund', amount: 7, reason_code: 'run_return' }),
          ]),
        }),
      });
      await page.getByText('+7').waitFor();
      expect(await violations(page)).toEqual([]);
      await page.getByRole('button', { name: 'Show as table' }).click();
      expect(await violations(page)).toEqual([]);
    },
  );

  it('does not scroll sideways at 320 px, also with text twice as large', async () => {
    const page = await local.open('/credits', { width: 320 });
    await page.getByText('−14').waitFor();
    expect(await sidewaysScroll(page)).toBe(0);
    await page.evaluate(() => document.documentElement.style.setProperty('font-size', '200%'));
    expect(await sidewaysScroll(page)).toBe(0);
  });

  it('shows what is reserved and owed only when there is any', async () => {
    const page = await local.open('/credits');
    await page.getByText('Available Credits').waitFor();
    expect(await page.locator('main dt', { hasText: /^(Reserved|Owed)$/ }).allInnerTexts()).toEqual(
      // "Reserved" is also a rule of the help box.
      ['Reserved'],
    );
  });

  it('leads from a line to its run, with sign and word', async () => {
    const page = await local.open('/credits');
    const line = page.getByRole('listitem').filter({ hasText: '−14' });
    expect(await line.innerText()).toContain('Consumption');
    expect(await line.getByRole('link').getAttribute('href')).toBe(`/optimizations/${runId(1)}`);
  });

  it('loads older lines after the last one, until there are none', async () => {
    const pages = [lines(50), lines(3, 51)];
    const page = await local.open('/credits', {
      api: member({ 'GET /api/credits/history': () => ok(pages.shift() ?? []) }),
    });
    const list = page.getByRole('region', { name: 'Transaction History' }).getByRole('listitem');
    await eventually(() => list.count()).toBe(50);
    await page.getByRole('button', { name: 'Load more' }).click();
    await eventually(() => list.count()).toBe(53);
    expect(await page.getByRole('button', { name: 'Load more' }).count()).toBe(0);
  });

  it('says that there is nothing yet, and what to do', async () => {
    const page = await local.open('/credits', { api: empty });
    await page.getByText('No transactions yet').waitFor();
    await page.getByRole('link', { name: 'Get your first credits' }).click();
    await eventually(() => page.evaluate(() => document.activeElement?.textContent)).toBe(
      'Trial credits',
    );
    expect(await page.getByText('—', { exact: true }).count()).toBe(1);
    expect(await violations(page)).toEqual([]);
  });

  it('loads everything again after everything failed', async () => {
    let isDown = true;
    const whole = member();
    const page = await local.open('/credits', {
      api: (call) => (isDown && call.path.startsWith('/api/credits/') ? failing : whole(call)),
    });
    await page.getByText('Failed to load credit information').first().waitFor();
    await page.getByText('Credits: --').first().waitFor();
    isDown = false;
    await page.getByRole('button', { name: 'Try Again' }).click();
    await page.getByText('Available Credits').waitFor();
    await page.getByText('−14').waitFor();
  });

  it('keeps the rest of the page when one part of it fails', async () => {
    const page = await local.open('/credits', {
      api: member({ 'GET /api/credits/analytics': failing }),
    });
    await page.getByText('Failed to load usage statistics').first().waitFor();
    await page.getByText('−14').waitFor();
    expect(await page.getByRole('button', { name: 'Try Again' }).count()).toBe(1);
  });

  it('adds trial credits once for a double press, and shows the command that does the same', async () => {
    const page = await local.open('/credits', {
      api: member({
        'POST /api/credits/trial': ok({ ...balance, available_credits: 136 }),
      }),
    });
    await page
      .getByText('npm run cli -- credits grant ada@example.com 50 --reason "Trial credits"')
      .waitFor();
    await page.getByRole('button', { name: 'Add 50 trial credits' }).dblclick();
    await page.locator('main').getByText('50 credits added. You have 136 credits.').waitFor();
    const given = local.site().calls.filter(({ path }) => path === '/api/credits/trial');
    expect(given).toHaveLength(1);
    expect(given[0]?.headers.get('idempotency-key')).toMatch(/^[\w-]{36}$/);
  });

  it('gives with the same key again after an answer was lost, and with a new one after that', async () => {
    const answers = [failing, ok(balance), ok(balance)];
    const page = await local.open('/credits', {
      api: member({ 'POST /api/credits/trial': () => answers.shift() ?? failing }),
    });
    const button = page.getByRole('button', { name: 'Add 50 trial credits' });
    await button.click();
    await page.getByText('The trial credits could not be added').first().waitFor();
    await button.click();
    await page.locator('main').getByText('50 credits added.').waitFor();
    await button.click();
    await eventually(
      () => local.site().calls.filter(({ path }) => path === '/api/credits/trial').length,
    ).toBe(3);
    const keys = local
      .site()
      .calls.filter(({ path }) => path === '/api/credits/trial')
      .map(({ headers }) => headers.get('idempotency-key'));
    expect(keys[0]).toBe(keys[1]);
    expect(keys[2]).not.toBe(keys[1]);
  });
});

describe('the badge in the bar', () => {
  const withBalance = (available_credits: number, reserved_credits = 0) =>
    member({
      'GET /api/credits/balance': ok({ ...balance, available_credits, reserved_credits }),
    });

  it.each([
    [50, '50 credits · Plenty'],
    [20, '20 credits · Enough'],
    [10, '10 credits · Low'],
    [1, '1 credit · Very low'],
  ])('says %i credits as %j', async (available, words) => {
    const page = await local.open('/credits', { api: withBalance(available) });
    await page.getByRole('banner').getByText(words).waitFor();
    expect(await page.getByRole('banner').getByText('Buy More Credits').count()).toBe(
      available < 20 ? 1 : 0,
    );
  });

  it('says what running optimizations hold', async () => {
    const page = await local.open('/credits', { api: withBalance(72, 14) });
    await page.getByRole('banner').getByText('reserved 14').waitFor();
  });

  it('is in full in the menu of a phone', async () => {
    const page = await local.open('/credits', { width: 390, api: withBalance(8, 14) });
    await page.getByRole('button', { name: 'Menu' }).click();
    const menu = page.getByRole('dialog');
    expect(await menu.innerText()).toContain('8 credits');
    expect(await menu.getByRole('link', { name: 'Buy More Credits' }).getAttribute('href')).toBe(
      '/credits#more',
    );
    expect(await violations(page)).toEqual([]);
  });
});

describe('in production', () => {
  const production = useMemberSite({ isLocal: false });

  it('the page says that credits cannot be bought yet, and offers no button for it', async () => {
    const page = await production.open('/credits');
    await page.getByText('Credits cannot be bought yet in this version.').waitFor();
    expect(await page.getByRole('button', { name: /trial/i }).count()).toBe(0);
    expect(await page.getByText('npm run cli').count()).toBe(0);
  });
});
