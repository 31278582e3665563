import { describe, expect, it } from 'vitest';
import type { CheckoutState, Plan } from '#services/payments/contract.ts';
import {
  balance,
  failing,
  faultsInEveryLook,
  member,
  useMemberSite,
  violations,
} from '#tests/web/support/member-site.ts';
import { stateOf } from '#tests/web/support/credit-story.ts';
import { ok, problem } from '#tests/web/support/site.ts';

const shop = useMemberSite();

const session = stateOf().session_id;
const opening = 'POST /api/credits/create-checkout-session';
const asking = `GET /api/credits/checkout-sessions/${session}`;

const calls = (path: string) => shop.site().calls.filter((call) => call.path === path);
const checkouts = () => calls('/api/credits/create-checkout-session');

function planOf(change: Partial<NonNullable<Plan['plan']>> = {}): Plan {
  return {
    tier: 'pro',
    monthly_limit: 50,
    plan: {
      package_id: 'side-gig-builder',
      package_name: 'Side-Gig Builder',
      status: 'active',
      credits: 50,
      amount_cents: 2_500,
      currency: 'usd',
      current_period_end: '2026-12-20T12:00:00.000Z',
      due_cents: null,
      grace_until: null,
      next_package_id: null,
      ...change,
    },
  };
}

describe('the page of packages', () => {
  it('the page of packages passes axe and fits every window, light and dark', async () => {
    const page = await shop.open('/credits/purchase?cancelled=boost-20');
    await page.getByText("Checkout canceled. You weren't charged.").first().waitFor();
    for (const summary of await page.locator('main summary').all()) await summary.click();
    expect(await faultsInEveryLook(page)).toEqual([]);
  });

  it('a receipt by email is promised only for a confirmed address and with a mail server', async () => {
    const page = await shop.open('/credits/purchase');
    const main = page.locator('main');
    await main.getByRole('heading', { name: 'Paying' }).waitFor();
    for (const summary of await main.locator('summary').all()) await summary.click();
    const words = await main.innerText();
    expect(words).toContain('if your address is confirmed and this site has a mail server');
  });

  it('every package is counted in runs of the chosen strategy', async () => {
    const page = await shop.open('/credits/purchase');
    await page.getByText('Each optimization uses ~14 credits with Balanced').waitFor();
    const card = page.getByRole('listitem').filter({ hasText: 'Boost 50' });
    await expect.poll(() => card.innerText()).toContain('3 runs, $7 per run');
    // A strategy that cannot run here is not offered.
    const strategy = page.getByLabel('Show runs for');
    await expect
      .poll(() => strategy.getByRole('option').allInnerTexts())
      .toEqual(['Fast, 4 credits', 'Balanced, 14 credits']);
    await strategy.selectOption('fast');
    await page.getByText('Each optimization uses 4 credits with Fast').waitFor();
    await expect.poll(() => card.innerText()).toContain('12 runs, $2 per run');
  });

  it('the page separates $25 once from $25 a month', async () => {
    const page = await shop.open('/credits/purchase');
    await page.getByRole('button', { name: 'Buy for $25 Boost 50' }).waitFor();
    await page
      .getByRole('button', { name: 'Subscribe for $25 a month Side-Gig Builder' })
      .waitFor();
    const monthly = page.getByRole('region', { name: 'Monthly' });
    await expect.poll(() => monthly.getByText('Renews monthly. Cancel anytime').count()).toBe(2);
    expect(await monthly.getByText('Most Popular').count()).toBe(0);
  });

  it('a double click opens one payment page, and the button works again after coming back', async () => {
    const page = await shop.open('/credits/purchase', {
      api: member({ [opening]: () => ok({ checkout_url: `${shop.site().origin}/terms` }) }),
    });
    const button = page.getByRole('button', { name: 'Buy for $10 Boost 20' });
    await button.dblclick();
    await page.waitForURL('**/terms');
    const { origin } = shop.site();
    expect(checkouts().map(({ body }) => body)).toEqual([
      {
        package_id: 'boost-20',
        success_url: `${origin}/credits/success`,
        cancel_url: `${origin}/credits/purchase?cancelled=boost-20`,
      },
    ]);
    expect(checkouts()[0]?.headers.get('idempotency-key')).toMatch(/^[\w-]{36}$/);
    await page.goBack();
    await button.waitFor();
    await expect.poll(() => button.isEnabled()).toBe(true);
  });

  it("a page restored from the browser's cache has no busy button", async () => {
    const page = await shop.open('/credits/purchase', {
      api: member({ [opening]: () => ok({ checkout_url: 'https://pay.example/checkout' }) }),
    });
    // The payment page never loads, so this one stays busy.
    await page.route('https://pay.example/**', (route) => route.fulfill({ status: 204 }));
    await page.getByRole('button', { name: 'Buy for $10 Boost 20' }).click();
    const busy = page.getByRole('button', { name: 'Opening checkout…' });
    await busy.waitFor();
    await page.evaluate(() =>
      dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true })),
    );
    await page.getByRole('button', { name: 'Buy for $10 Boost 20' }).waitFor();
  });

  it('the package chosen on an earlier page takes the focus', async () => {
    const page = await shop.open('/credits/purchase?package=boost-125', { width: 390 });
    const button = page.getByRole('button', { name: 'Buy for $50 Boost 125' });
    await expect.poll(() => button.evaluate((each) => each === document.activeElement)).toBe(true);
    await expect
      .poll(() => button.evaluate((each) => each.getBoundingClientRect().top > 0))
      .toBe(true);
    await page.getByText('Your choice').waitFor();
  });

  it('a cancelled checkout is reported as not charged until the notice is dismissed', async () => {
    const page = await shop.open('/credits/purchase?cancelled=boost-20');
    const card = page.getByRole('listitem').filter({ hasText: 'Boost 20' });
    await card.getByText("Checkout canceled. You weren't charged.").waitFor();
    await expect
      .poll(() =>
        card
          .getByRole('button', { name: 'Buy for $10 Boost 20' })
          .evaluate((button) => button === document.activeElement),
      )
      .toBe(true);
    await card.getByRole('button', { name: 'Dismiss' }).click();
    await page.waitForURL('**/credits/purchase?package=boost-20');
    await expect.poll(() => card.getByText('Checkout cancelled').count()).toBe(0);
  });

  it('a checkout that failed says what to do, and a retry has a new key', async () => {
    const page = await shop.open('/credits/purchase', {
      api: member({ [opening]: ok({ checkout_url: 'javascript:alert(1)' }) }),
    });
    const card = page.getByRole('listitem').filter({ hasText: 'Boost 20' });
    const button = card.getByRole('button', { name: 'Buy for $10 Boost 20' });
    await button.click();
    await card.getByText('Purchase failed').waitFor();
    await expect
      .poll(() => card.innerText())
      .toContain('No checkout URL received from server. Please try again.');
    await expect.poll(() => card.innerText()).toContain("You weren't charged.");
    await button.click();
    await expect.poll(() => checkouts().length).toBe(2);
    const [first, second] = checkouts().map(({ headers }) => headers.get('idempotency-key'));
    expect(first).not.toBe(second);
  });

  it('a refused second plan links to the existing plan', async () => {
    const page = await shop.open('/credits/purchase', {
      api: member({ [opening]: problem(409, 'plan-exists', 'There is one.') }),
    });
    await page.getByRole('button', { name: /^Subscribe for \$150/ }).click();
    await page.getByRole('link', { name: 'Go to your plan' }).click();
    await page.waitForURL('**/credits/plan');
  });

  it('a user with a plan is offered the plan page instead of a second plan', async () => {
    const page = await shop.open('/credits/purchase', {
      api: member({ 'GET /api/credits/plan': ok(planOf()) }),
    });
    await page.getByRole('link', { name: 'See your plan Side-Gig Builder' }).waitFor();
    await page.getByRole('link', { name: 'Change your plan Empire Builder' }).waitFor();
    await expect.poll(() => page.getByRole('button', { name: /^Subscribe/ }).count()).toBe(0);
    await expect.poll(() => page.getByRole('button', { name: /^Buy for/ }).count()).toBe(4);
  });

  it('a retry reads only the packages again when only they failed', async () => {
    const answers = [failing, failing, failing];
    const whole = member();
    const page = await shop.open('/credits/purchase', {
      api: (call) =>
        call.path === '/api/credits/packages' ? (answers.shift() ?? whole(call)) : whole(call),
    });
    await page.getByText('Failed to load credit packages').first().waitFor();
    await page.getByText("You weren't charged.").waitFor();
    const balances = calls('/api/credits/balance').length;
    await page.getByRole('button', { name: 'Try Again' }).click();
    await page.getByRole('heading', { name: 'Boost 125' }).waitFor();
    expect(calls('/api/credits/balance')).toHaveLength(balances);
  });

  it('a question that could not be paid for is kept, and the purchase page links back to it', async () => {
    const page = await shop.open('/optimization?challenge=Which%20market%20first%3F', {
      api: member({
        'GET /api/credits/balance': ok({ ...balance, available_credits: 8 }),
      }),
    });
    await page.getByRole('radio', { name: /Balanced/ }).check();
    await page
      .getByText(
        "You need 14 credits to run this optimization, but you only have 8 credits available. You're short by 6 credits.",
      )
      .waitFor();
    await expect
      .poll(() =>
        page
          .locator('main')
          .getByRole('link', { name: 'View Credit Balance' })
          .getAttribute('href'),
      )
      .toBe('/credits');
    await page.locator('main').getByRole('link', { name: 'Buy More Credits' }).click();
    await page.waitForURL('**/credits/purchase');
    await page.getByRole('link', { name: 'Back to your question' }).click();
    await page.waitForURL('**/optimization');
    await expect
      .poll(() => page.getByLabel(/challenge are you facing/).inputValue())
      .toBe('Which market first?');
  });
});

describe('the page after a payment', () => {
  const path = `/credits/success?session_id=${session}`;
  const thanks = 'Successfully purchased 50 credits! Your balance has been updated.';

  it('the page after a payment passes axe and fits every window, light and dark', async () => {
    const page = await shop.open(path, { api: member({ [asking]: ok(stateOf()) }) });
    await page.getByRole('heading', { name: 'Purchase complete' }).waitFor();
    await page.getByText('Details').click();
    await page.getByText(session).waitFor();
    expect(await faultsInEveryLook(page)).toEqual([]);
  });

  it('the page and the bar show the credits at once, and the toast appears only once', async () => {
    let paid = false;
    const page = await shop.open(path, {
      api: member({
        [asking]: () => {
          paid = true;
          return ok(stateOf());
        },
        'GET /api/credits/balance': () =>
          ok(paid ? stateOf().balance : { ...balance, available_credits: 86 }),
      }),
    });
    const toast = page.getByRole('region', { name: 'Notifications' }).getByText(thanks);
    await toast.waitFor();
    await page.getByRole('banner').getByText('136 credits').waitFor();
    const main = page.locator('main');
    await main.getByText('136').waitFor();
    await expect
      .poll(() => main.getByRole('link', { name: 'Start Optimizing' }).getAttribute('href'))
      .toBe('/optimization');
    await expect
      .poll(() => main.getByRole('link', { name: 'View Credit History' }).getAttribute('href'))
      .toMatch(/^\/credits/);
    await page.reload();
    await main.getByRole('heading', { name: 'Purchase complete' }).waitFor();
    await main.getByText('136').waitFor();
    await expect.poll(() => toast.count()).toBe(0);
    expect(page.url()).toContain(path);
  });

  it('a payment that the bank is still confirming is polled until it is decided', async () => {
    let status: CheckoutState['status'] = 'processing';
    const page = await shop.open(path, {
      api: member({ [asking]: () => ok(stateOf({ status })) }),
    });
    await page.getByText('Your bank is still confirming').first().waitFor();
    await expect.poll(() => page.getByText(thanks).count()).toBe(0);
    expect(await violations(page)).toEqual([]);
    status = 'paid';
    await page.getByRole('heading', { name: 'Purchase complete' }).waitFor();
    await page.getByRole('region', { name: 'Notifications' }).getByText(thanks).waitFor();
  });

  it('a failed check says that the payment is safe, shows its reference, and is repeated', async () => {
    const answers = [failing, failing, failing];
    const page = await shop.open(path, {
      api: member({ [asking]: () => answers.shift() ?? ok(stateOf()) }),
    });
    const main = page.locator('main');
    await main.getByRole('heading', { name: 'Purchase Verification Failed' }).waitFor();
    await main.getByText('Failed to verify purchase completion').waitFor();
    await expect
      .poll(() => main.innerText())
      .toContain('Please check your credits before paying again');
    await main.getByText(session).waitFor();
    for (const [name, href] of [
      ['View Credits', '/credits'],
      ['Dashboard', '/dashboard'],
    ] as const)
      await expect.poll(() => main.getByRole('link', { name }).getAttribute('href')).toBe(href);
    expect(await violations(page)).toEqual([]);
    await main.getByRole('button', { name: 'Try Again' }).click();
    await main.getByRole('heading', { name: 'Purchase complete' }).waitFor();
  });

  it('a page without a session id makes no request', async () => {
    const page = await shop.open('/credits/success');
    await page.getByRole('heading', { name: 'Purchase Verification Failed' }).waitFor();
    await page.getByText('No session ID provided').first().waitFor();
    expect(shop.site().calls.some((call) => call.path.includes('checkout-sessions'))).toBe(false);
  });

  it('a visitor signs in first and keeps the session id', async () => {
    const whole = member();
    const page = await shop.open(path, {
      api: (call) => (call.path === '/api/auth/session' ? ok(null) : whole(call)),
    });
    await page.waitForURL('**/login?redirect=*');
    expect(new URL(page.url()).searchParams.get('redirect')).toBe(path);
  });
});

describe('the page of the plan', () => {
  const held = (change: Parameters<typeof planOf>[0] = {}, more = {}) =>
    member({ 'GET /api/credits/plan': ok(planOf(change)), ...more });

  it('the page of the plan passes axe and fits every window, light and dark', async () => {
    const page = await shop.open('/credits/plan', {
      api: held({ status: 'past_due', due_cents: 15_000, grace_until: '2026-11-27T12:00:00.000Z' }),
    });
    await page.getByText("Your last payment of $150 didn't go through").waitFor();
    expect(await faultsInEveryLook(page)).toEqual([]);
    await page.getByRole('button', { name: 'Cancel plan' }).click();
    await page.getByRole('dialog').getByText('the plan ends right away').waitFor();
    // Nothing can be changed while a payment is missing.
    await expect.poll(() => page.getByRole('button', { name: /^Change to/ }).count()).toBe(0);
    expect(await violations(page)).toEqual([]);
  });

  it('the page without a plan links to the plans', async () => {
    const page = await shop.open('/credits/plan');
    await page.getByText('Free Plan').waitFor();
    await page.getByRole('link', { name: 'See the plans' }).click();
    await page.waitForURL('**/credits/purchase#monthly');
    await expect
      .poll(() => page.evaluate(() => document.activeElement?.textContent))
      .toBe('Monthly');
  });

  it('a change, a cancellation and its reversal name amount and date first', async () => {
    let plan = planOf();
    const page = await shop.open('/credits/plan', {
      api: member({
        'GET /api/credits/plan': () => ok(plan),
        'POST /api/credits/plan': ({ body }) => {
          const { action, package_id: asked } = body as { action: string; package_id?: string };
          plan = planOf(
            action === 'change'
              ? { next_package_id: asked === 'empire-builder' ? asked : null }
              : { status: action === 'cancel' ? 'cancelling' : 'active' },
          );
          return ok(plan);
        },
      }),
    });
    const main = page.locator('main');
    const dialog = page.getByRole('dialog');
    await main.getByText('Renews on December 20, 2026: $25 for 50 credits.').waitFor();

    await main.getByRole('button', { name: 'Change to Empire Builder' }).click();
    await dialog
      .getByText(
        "From December 20, 2026, you'll pay $150 a month for 400 credits instead of $25 for 50 credits.",
      )
      .waitFor();
    await dialog.getByRole('button', { name: 'Change from December 20, 2026' }).click();
    await main
      .getByText('Changes to Empire Builder on December 20, 2026: $150 a month for 400 credits.')
      .waitFor();
    await main.getByRole('button', { name: 'Keep Side-Gig Builder' }).click();
    await dialog.getByText('It renews on December 20, 2026 unchanged').waitFor();
    await dialog.getByRole('button', { name: 'Keep Side-Gig Builder' }).click();
    await main.getByText('Renews on December 20, 2026: $25 for 50 credits.').waitFor();

    await main.getByRole('button', { name: 'Cancel plan' }).click();
    await dialog
      .getByText('It ends on December 20, 2026. After that, no more $25 charges')
      .waitFor();
    await dialog.getByRole('button', { name: 'Cancel plan' }).click();
    await main.getByText("Ends on December 20, 2026. You won't be charged again").waitFor();

    await main.getByRole('button', { name: 'Resume plan' }).click();
    await dialog.getByText("From December 20, 2026, you'll pay $25 a month").waitFor();
    await dialog.getByRole('button', { name: 'Resume for $25 a month' }).click();
    await main.getByText('Renews on December 20, 2026').waitFor();

    const sent = calls('/api/credits/plan').filter(({ method }) => method === 'POST');
    expect(sent.map(({ body }) => body)).toEqual([
      { action: 'change', package_id: 'empire-builder' },
      { action: 'change', package_id: 'side-gig-builder' },
      { action: 'cancel' },
      { action: 'resume' },
    ]);
  });

  it('the dialog stays open when a change failed, and the plan page leaves for cards and invoices', async () => {
    const page = await shop.open('/credits/plan', {
      api: held(
        {},
        {
          'POST /api/credits/plan': problem(503, 'payment-provider', 'internal'),
          'POST /api/credits/portal-session': () => ok({ url: `${shop.site().origin}/privacy` }),
        },
      ),
    });
    await page.locator('main').getByRole('button', { name: 'Cancel plan' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Cancel plan' }).click();
    await dialog.getByText("We couldn't reach the payment provider.").waitFor();
    await dialog.getByRole('button', { name: 'Never mind' }).click();
    await page.getByText('Renews on December 20, 2026').waitFor();

    await page.getByRole('button', { name: 'Manage cards and invoices' }).click();
    await page.waitForURL('**/privacy');
    expect(calls('/api/credits/portal-session')[0]?.body).toEqual({
      return_url: `${shop.site().origin}/credits/plan`,
    });
  });

  it('the account settings show the plan in short', async () => {
    const page = await shop.open('/profile', { api: held() });
    await page.getByText('Side-Gig Builder, $25 a month').waitFor();
    await page.getByRole('link', { name: 'Change or cancel plan' }).waitFor();
  });
});
