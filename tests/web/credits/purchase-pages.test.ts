import { describe, expect, it } from 'vitest';
import type { CheckoutState, Plan } from '#services/payments/contract.ts';
import {
  balance,
  failing,
  faultsInEveryLook,
  member,
  sidewaysScroll,
  useMemberSite,
  violations,
} from '#tests/web/support/member-site.ts';
import { ok, problem } from '#tests/web/support/site.ts';

const shop = useMemberSite();

const session = 'cs_test_of_this_test';
const opening = 'POST /api/credits/create-checkout-session';
const asking = `GET /api/credits/checkout-sessions/${session}`;

const calls = (path: string) => shop.site().calls.filter((call) => call.path === path);
const checkouts = () => calls('/api/credits/create-checkout-session');

function stateOf(change: Partial<CheckoutState> = {}): CheckoutState {
  return {
    session_id: session,
    purchase_id: 'pur_00000000000000000000000001',
    package_id: 'boost-50',
    package_name: 'Boost 50',
    kind: 'one_time',
    status: 'paid',
    credits: 50,
    settled_credits: 0,
    amount_cents: 2_500,
    currency: 'usd',
    receipt_url: 'https://pay.example/receipts/1',
    receipt_by_email: true,
    balance: { ...balance, available_credits: 136, total_credits: 150, total_purchased: 150 },
    ...change,
  };
}

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
  it('has nothing for axe to complain about and fits, light and dark, wide and narrow', async () => {
    const page = await shop.open('/credits/purchase?cancelled=boost-20');
    await page.getByText('Checkout cancelled, nothing was charged').first().waitFor();
    for (const summary of await page.locator('main summary').all()) await summary.click();
    expect(await faultsInEveryLook(page)).toEqual([]);
  });

  it('does not scroll sideways at 320 px with text twice as large', async () => {
    const page = await shop.open('/credits/purchase', { width: 320 });
    await page.getByRole('heading', { name: 'Boost 125' }).waitFor();
    await page.evaluate(() => document.documentElement.style.setProperty('font-size', '200%'));
    await expect.poll(() => sidewaysScroll(page)).toBe(0);
  });

  it('promises a receipt by email only for a confirmed address and where there is a mail server', async () => {
    const page = await shop.open('/credits/purchase');
    const main = page.locator('main');
    await main.getByRole('heading', { name: 'Paying' }).waitFor();
    for (const summary of await main.locator('summary').all()) await summary.click();
    const words = await main.innerText();
    expect(words).not.toMatch(/A receipt comes by e-mail|We mail one for every payment/);
    expect(words).toContain('if your address is confirmed and this site has a mail server');
  });

  it('counts every package in runs of the strategy that the reader chooses', async () => {
    const page = await shop.open('/credits/purchase');
    await page.getByText('Each optimization uses ~14 credits with Balanced').waitFor();
    const card = page.getByRole('listitem').filter({ hasText: 'Boost 50' });
    await expect.poll(() => card.innerText()).toContain('3 runs, $7 per run');
    // What cannot run here is not offered as a measure.
    const strategy = page.getByLabel('Count runs of');
    await expect
      .poll(() => strategy.getByRole('option').allInnerTexts())
      .toEqual(['Fast, 4 credits', 'Balanced, 14 credits']);
    await strategy.selectOption('fast');
    await page.getByText('Each optimization uses 4 credits with Fast').waitFor();
    await expect.poll(() => card.innerText()).toContain('12 runs, $2 per run');
  });

  it('tells $25 once and $25 a month apart, and says how a plan ends', async () => {
    const page = await shop.open('/credits/purchase');
    await page.getByRole('button', { name: 'Buy for $25 Boost 50' }).waitFor();
    await page
      .getByRole('button', { name: 'Subscribe for $25 a month Side-Gig Builder' })
      .waitFor();
    const monthly = page.getByRole('region', { name: 'Monthly' });
    await expect.poll(() => monthly.getByText('Most Popular').count()).toBe(1);
    await expect
      .poll(() => monthly.getByText('Renews every month until you cancel').count())
      .toBe(2);
  });

  it('opens one payment page for a double press, and is itself again when somebody comes back', async () => {
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

  it('rests when the browser brings the page back from its memory', async () => {
    const page = await shop.open('/credits/purchase', {
      api: member({ [opening]: () => ok({ checkout_url: 'https://pay.example/checkout' }) }),
    });
    // The payment page never comes: this one stays, waiting.
    await page.route('https://pay.example/**', (route) => route.fulfill({ status: 204 }));
    await page.getByRole('button', { name: 'Buy for $10 Boost 20' }).click();
    const busy = page.getByRole('button', { name: 'Opening the payment page…' });
    await busy.waitFor();
    await page.evaluate(() =>
      dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true })),
    );
    await page.getByRole('button', { name: 'Buy for $10 Boost 20' }).waitFor();
  });

  it('puts the focus on the package that was chosen on the way here', async () => {
    const page = await shop.open('/credits/purchase?package=boost-125', { width: 390 });
    const button = page.getByRole('button', { name: 'Buy for $50 Boost 125' });
    await expect.poll(() => button.evaluate((each) => each === document.activeElement)).toBe(true);
    await expect
      .poll(() => button.evaluate((each) => each.getBoundingClientRect().top > 0))
      .toBe(true);
    await page.getByText('Your choice').waitFor();
  });

  it('says after a cancelled checkout that nothing was charged, until it is dismissed', async () => {
    const page = await shop.open('/credits/purchase?cancelled=boost-20');
    const card = page.getByRole('listitem').filter({ hasText: 'Boost 20' });
    await card.getByText('Checkout cancelled, nothing was charged').waitFor();
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

  it.each([
    [
      'no address',
      ok({ checkout_url: null }),
      'No checkout URL received from server. Please try again.',
    ],
    [
      'an address that is none',
      ok({ checkout_url: 'javascript:alert(1)' }),
      'No checkout URL received from server. Please try again.',
    ],
    [
      'no payments here',
      problem(503, 'payments-unavailable', 'internal words'),
      'Buying is not available here at the moment.',
    ],
    [
      'a provider that is away',
      problem(503, 'payment-provider', 'internal words'),
      'The payment provider could not be reached. Please try again in a moment.',
    ],
    ['a server at fault', failing, 'The server had a problem.'],
  ])(
    'says what to do about %s, and tries again with a key of its own',
    async (_of, reply, words) => {
      const page = await shop.open('/credits/purchase', { api: member({ [opening]: reply }) });
      const card = page.getByRole('listitem').filter({ hasText: 'Boost 20' });
      const button = card.getByRole('button', { name: 'Buy for $10 Boost 20' });
      await button.click();
      await card.getByText('Purchase failed').waitFor();
      await expect.poll(() => card.innerText()).toContain(words);
      await expect.poll(() => card.innerText()).toContain('Nothing was charged.');
      await button.click();
      await expect.poll(() => checkouts().length).toBe(2);
      const [first, second] = checkouts().map(({ headers }) => headers.get('idempotency-key'));
      expect(first).not.toBe(second);
    },
  );

  it('leads whoever has a plan already to it', async () => {
    const page = await shop.open('/credits/purchase', {
      api: member({ [opening]: problem(409, 'plan-exists', 'There is one.') }),
    });
    await page.getByRole('button', { name: /^Subscribe for \$150/ }).click();
    await page.getByRole('link', { name: 'Go to your plan' }).click();
    await page.waitForURL('**/credits/plan');
  });

  it('offers the plan page in place of a second plan', async () => {
    const page = await shop.open('/credits/purchase', {
      api: member({ 'GET /api/credits/plan': ok(planOf()) }),
    });
    await page.getByRole('link', { name: 'See your plan Side-Gig Builder' }).waitFor();
    await page.getByRole('link', { name: 'Change your plan Empire Builder' }).waitFor();
    await expect.poll(() => page.getByRole('button', { name: /^Subscribe/ }).count()).toBe(0);
    await expect.poll(() => page.getByRole('button', { name: /^Buy for/ }).count()).toBe(4);
  });

  it('reads only the packages again when they could not be read', async () => {
    const answers = [failing, failing, failing];
    const whole = member();
    const page = await shop.open('/credits/purchase', {
      api: (call) =>
        call.path === '/api/credits/packages' ? (answers.shift() ?? whole(call)) : whole(call),
    });
    await page.getByText('Failed to load credit packages').first().waitFor();
    await page.getByText('Nothing was charged.').waitFor();
    const balances = calls('/api/credits/balance').length;
    await page.getByRole('button', { name: 'Try Again' }).click();
    await page.getByRole('heading', { name: 'Boost 125' }).waitFor();
    expect(calls('/api/credits/balance')).toHaveLength(balances);
  });

  it('keeps a question that could not be paid, and leads back to it', async () => {
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

  it('has nothing for axe to complain about and fits, light and dark, wide and narrow', async () => {
    const page = await shop.open(path, { api: member({ [asking]: ok(stateOf()) }) });
    await page.getByRole('heading', { name: 'Purchase complete' }).waitFor();
    await page.getByText('Details').click();
    await page.getByText(session).waitFor();
    expect(await faultsInEveryLook(page)).toEqual([]);
  });

  it('shows the credits at once, here and in the bar, and says thank you once', async () => {
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

  it.each([
    [
      { settled_credits: 20 },
      0,
      '20 credits of them settled what your account owed; 30 credits were left to use.',
      'Start Optimizing',
    ],
    [
      { settled_credits: 50 },
      6,
      'All of them settled what your account owed. Your account still owes 6 credits',
      'Settle the rest',
    ],
  ])(
    'says how many of the credits settled a debt, and what is still owed',
    async (settled, debt, words, next) => {
      const after = { ...balance, debt_credits: debt };
      const page = await shop.open(path, {
        api: member({
          [asking]: ok(stateOf({ ...settled, balance: after })),
          'GET /api/credits/balance': ok(after),
        }),
      });
      const main = page.locator('main');
      await main.getByText(words).waitFor();
      await main.getByRole('link', { name: next }).waitFor();
      expect(await violations(page)).toEqual([]);
    },
  );

  it('announces a receipt by email only when one is sent', async () => {
    let state = stateOf({ status: 'processing', receipt_by_email: false });
    const page = await shop.open(path, { api: member({ [asking]: () => ok(state) }) });
    const main = page.locator('main');
    await main.getByText('Your bank is still confirming').waitFor();
    expect(await main.innerText()).not.toMatch(/mail/i);
    state = stateOf({ receipt_by_email: false });
    await main.getByText('Boost 50 is paid.').waitFor();
    expect(await main.innerText()).not.toMatch(/mail/i);
    state = stateOf();
    await page.reload();
    await main.getByText('Boost 50 is paid. We email you a receipt.').waitFor();
  });

  it('waits for a bank that is still confirming, and tells when it has', async () => {
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

  it.each([
    ['failed', 'Payment failed', 'Nothing was charged, and no credits were added.'],
    ['expired', 'Checkout expired', 'Nothing was charged.'],
  ] as const)(
    'says of a checkout that %s that no money has moved',
    async (status, heading, words) => {
      const page = await shop.open(path, { api: member({ [asking]: ok(stateOf({ status })) }) });
      await page.getByRole('heading', { name: heading }).waitFor();
      // The heading is there before what stood in for the rest goes.
      await page.locator('main').getByText(words).first().waitFor();
      await expect
        .poll(() => page.getByRole('link', { name: 'Choose again' }).getAttribute('href'))
        .toBe('/credits/purchase?package=boost-50');
    },
  );

  it('says when it could not look that a payment is safe, with its reference, and looks again', async () => {
    const answers = [failing, failing, failing];
    const page = await shop.open(path, {
      api: member({ [asking]: () => answers.shift() ?? ok(stateOf()) }),
    });
    const main = page.locator('main');
    await main.getByRole('heading', { name: 'Purchase Verification Failed' }).waitFor();
    await main.getByText('Failed to verify purchase completion').waitFor();
    await expect.poll(() => main.innerText()).toContain('please do not pay again');
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

  it('asks nothing without a session', async () => {
    const page = await shop.open('/credits/success');
    await page.getByRole('heading', { name: 'Purchase Verification Failed' }).waitFor();
    await page.getByText('No session ID provided').first().waitFor();
    expect(shop.site().calls.some((call) => call.path.includes('checkout-sessions'))).toBe(false);
  });

  it('asks a visitor to sign in first, and keeps the session', async () => {
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

  it('has nothing for axe to complain about and fits, light and dark, wide and narrow', async () => {
    const page = await shop.open('/credits/plan', {
      api: held({ status: 'past_due', due_cents: 15_000, grace_until: '2026-11-27T12:00:00.000Z' }),
    });
    await page.getByText('The last payment of $150 did not go through').waitFor();
    expect(await faultsInEveryLook(page)).toEqual([]);
    await page.getByRole('button', { name: 'Cancel the plan' }).click();
    await page.getByRole('dialog').getByText('It ends at once').waitFor();
    // Nothing can be changed before the missing payment is there.
    await expect.poll(() => page.getByRole('button', { name: /^Change to/ }).count()).toBe(0);
    expect(await faultsInEveryLook(page)).toEqual([]);
  });

  it('says that there is none, and where to get one', async () => {
    const page = await shop.open('/credits/plan');
    await page.getByText('Free Plan').waitFor();
    await page.getByRole('link', { name: 'See the plans' }).click();
    await page.waitForURL('**/credits/purchase#monthly');
    await expect
      .poll(() => page.evaluate(() => document.activeElement?.textContent))
      .toBe('Monthly');
  });

  it('names amount and date before a change, a cancellation and a return from it', async () => {
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
        'From December 20, 2026 you pay $150 a month for 400 credits, instead of $25 for 50 credits.',
      )
      .waitFor();
    await dialog.getByRole('button', { name: 'Change from December 20, 2026' }).click();
    await main
      .getByText('Becomes Empire Builder on December 20, 2026: $150 for 400 credits a month.')
      .waitFor();
    await main.getByRole('button', { name: 'Keep Side-Gig Builder' }).click();
    await dialog.getByText('It renews on December 20, 2026 as it is').waitFor();
    await dialog.getByRole('button', { name: 'Keep Side-Gig Builder' }).click();
    await main.getByText('Renews on December 20, 2026: $25 for 50 credits.').waitFor();

    await main.getByRole('button', { name: 'Cancel the plan' }).click();
    await dialog.getByText('It ends on December 20, 2026. The $25 a month').waitFor();
    await dialog.getByRole('button', { name: 'Cancel the plan' }).click();
    await main.getByText('Ends on December 20, 2026. Nothing more is charged').waitFor();

    await main.getByRole('button', { name: 'Resume the plan' }).click();
    await dialog.getByText('from December 20, 2026 you pay $25 a month').waitFor();
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

  it('stays in the dialog when a change did not happen', async () => {
    const page = await shop.open('/credits/plan', {
      api: held({}, { 'POST /api/credits/plan': problem(503, 'payment-provider', 'internal') }),
    });
    await page.locator('main').getByRole('button', { name: 'Cancel the plan' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Cancel the plan' }).click();
    await dialog.getByText('The payment provider could not be reached.').waitFor();
    await dialog.getByRole('button', { name: 'Not now' }).click();
    await page.getByText('Renews on December 20, 2026').waitFor();
  });

  it('leaves for the page of cards and invoices', async () => {
    const page = await shop.open('/credits/plan', {
      api: held(
        {},
        {
          'POST /api/credits/portal-session': () => ok({ url: `${shop.site().origin}/privacy` }),
        },
      ),
    });
    await page.getByRole('button', { name: 'Manage cards and invoices' }).click();
    await page.waitForURL('**/privacy');
    expect(calls('/api/credits/portal-session')[0]?.body).toEqual({
      return_url: `${shop.site().origin}/credits/plan`,
    });
  });

  it('stands in short in the account settings', async () => {
    const page = await shop.open('/profile', { api: held() });
    await page.getByText('Side-Gig Builder, $25 a month').waitFor();
    await page.getByRole('link', { name: 'Change or cancel the plan' }).waitFor();
  });
});
