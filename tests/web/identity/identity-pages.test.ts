import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { identityProblems } from '#services/identity/refusals.ts';
import { problems } from '#services/platform/problems.ts';
import { faultsInEveryLook, useMemberSite, violations } from '#tests/web/support/member-site.ts';
import { settled } from '#tests/web/support/settled.ts';
import {
  type Api,
  type Call,
  ok,
  problem,
  type Reply,
  sessionOf,
  visitor,
} from '#tests/web/support/site.ts';

/** The pages around signing in, with the server's replies chosen by the test. */
const { open, site } = useMemberSite({ isLocal: false });

const secret = 'S'.repeat(43);
const done = ok({ ok: true });
type Answers = Readonly<Record<string, Reply | ((call: Call) => Reply)>>;

/** There is no session until a reply carries one. */
function server(answers: Answers = {}): Api {
  let session: Reply = ok(null);
  return (call) => {
    const { method, path } = call;
    const answer = answers[`${method} ${path}`];
    if (answer === undefined && path === '/api/auth/session') return session;
    if (answer === undefined) return visitor(call);
    const reply = typeof answer === 'function' ? answer(call) : answer;
    if (JSON.stringify(reply.body).includes('access_token')) session = reply;
    return reply;
  };
}

const refusal = (code: keyof typeof identityProblems): Reply => {
  return problem(problems[code], code, identityProblems[code].message);
};
const bodies = (path: string): unknown[] =>
  site()
    .calls.filter((call) => call.path === path)
    .map(({ body }) => body);
const focusedText = (page: Page) => page.evaluate(() => document.activeElement?.textContent ?? '');

/** A token as a link carries it; its signature is not checked here. */
function linkToken(exp: number): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  return `${part({ alg: 'EdDSA' })}.${part({ exp })}.c2ln`;
}
const fresh = linkToken(Date.now() / 1000 + 3_600);

describe('the pages that an email leads to', () => {
  it('the page says that it needs JavaScript', async () => {
    for (const path of ['/login', '/auth/link/confirm']) {
      const text = await (await fetch(`${site().origin}${path}`)).text();
      expect(text).toMatch(/<noscript>\s*<p[^>]*>[^<]*JavaScript/);
    }
  });

  it('the page is hidden from search engines', async () => {
    for (const path of ['/auth/link/magic', '/auth/confirm', '/auth/error', '/reset-password']) {
      const response = await fetch(`${site().origin}${path}`);
      expect(response.status).toBe(200);
      expect(await response.text()).toContain('<meta name="robots" content="noindex"');
    }
  });
});

describe('the login page', () => {
  it('the login page emails a sign-in link, and another one after a minute', async () => {
    const api = server({ 'POST /api/auth/magic-link': done });
    const page = await open('/login?redirect=%2Fcredits', { api, isFresh: true });
    await page.clock.install();
    const button = page.getByRole('button', { name: /^Email me a sign-in link/ });
    await button.click();
    await page.getByText('Email is required').waitFor();
    expect(bodies('/api/auth/magic-link')).toEqual([]);

    await page.getByLabel('Email').fill('ada@example.com');
    await page.getByLabel('Remember me').check();
    await button.click();
    await page.getByText('If an account exists, a link is on its way').first().waitFor();
    expect(bodies('/api/auth/magic-link')).toEqual([
      { email: 'ada@example.com', remember_me: true, redirect: '/credits' },
    ]);
    expect(await violations(page)).toEqual([]);

    await page.getByRole('button', { name: /again in \d+s$/ }).press('Enter');
    await page.clock.fastForward(61_000);
    await page.getByRole('button', { name: 'Email me a sign-in link again', exact: true }).click();
    await expect.poll(() => bodies('/api/auth/magic-link').length).toBe(2);
  });

  it('an unconfirmed address leads from the login to its confirmation', async () => {
    const api = server({
      'POST /api/auth/login': refusal('email-not-confirmed'),
      'POST /api/auth/resend-confirmation': done,
    });
    const page = await open('/login?redirect=%2Fcredits', { api });
    await page.getByLabel('Email').fill('ada@example.com');
    await page.getByLabel('Password', { exact: true }).fill('Correct1horse');
    await page.getByRole('button', { name: 'Login' }).click();
    await page.waitForURL('**/auth/verify-email?redirect=*');
    await page.getByText("You haven't confirmed this address yet").waitFor();
    await page.getByText('a•••@example.com').waitFor();
    await page.getByRole('button', { name: 'Send link' }).click();
    await page.getByText('If an account exists, a link is on its way').first().waitFor();
    expect(bodies('/api/auth/resend-confirmation')).toEqual([
      { email: 'ada@example.com', redirect: '/credits' },
    ]);
  });
});

describe('signing up', () => {
  const signUp = async (page: Page): Promise<void> => {
    await page.getByLabel('Full name').fill('Ada Example');
    await page.getByLabel('Email').fill('ada@example.com');
    await page.getByLabel('Password', { exact: true }).fill('Correct1horse');
    await page.getByLabel('Confirm password', { exact: true }).fill('Correct1horse');
    await page.getByRole('checkbox').check();
    await page.getByRole('button', { name: 'Start Finding Opportunities' }).click();
  };
  const chosen = encodeURIComponent('/credits/purchase?package=boost-50');
  const pending = ok({ needsEmailVerification: true, pending_token: 'pending-of-this-test' });

  it('a sign-up leads to the page that waits for the confirmation, also after a reload', async () => {
    const api = server({
      'POST /api/auth/signup': pending,
      'POST /api/auth/resend-confirmation': done,
    });
    const page = await open('/signup', { api, isFresh: true });
    await expect
      .poll(() => page.getByText('No card needed. You pay after you confirm your email.').count())
      .toBe(1);
    await signUp(page);
    await page.waitForURL('**/auth/verify-email');
    await page.getByText('Welcome to Sevenfold', { exact: true }).waitFor();
    await page.getByRole('heading', { name: 'Superintelligence Access Initiated' }).waitFor();
    await page.getByText('a•••@example.com').waitFor();
    expect(await violations(page)).toEqual([]);
    expect(page.url()).not.toContain('ada');

    await page.clock.install();
    await page.reload();
    await page.getByText('a•••@example.com').waitFor();
    await page.getByRole('button', { name: /^Send it again in \d+s$/ }).press('Enter');
    expect(bodies('/api/auth/resend-confirmation')).toEqual([]);
    await page.clock.fastForward(61_000);
    await page.getByRole('button', { name: 'Send it', exact: true }).click();
    await page.getByText('If an account exists, a link is on its way').first().waitFor();
    expect(bodies('/api/auth/resend-confirmation')).toEqual([
      { pending_token: 'pending-of-this-test' },
    ]);
  });

  it('the waiting page continues when the address is confirmed in another tab', async () => {
    const api = server({
      'POST /api/auth/signup': pending,
      'POST /api/auth/links/confirm': ok({
        redirect: `/auth/confirm?confirmed=true&redirect=${chosen}&access_token=${fresh}&refresh_token=${fresh}`,
      }),
      'POST /api/auth/exchange': ok(sessionOf()),
    });
    const waiting = await open(`/signup?redirect=${chosen}`, { api });
    await signUp(waiting);
    await waiting.waitForURL('**/auth/verify-email?redirect=*');
    expect(bodies('/api/auth/signup')).toMatchObject([
      { redirect: '/credits/purchase?package=boost-50' },
    ]);
    const mail = await open(`/auth/link/confirm#${secret}`, { api });
    await mail.getByRole('button', { name: 'Confirm my address' }).click();
    // Both tabs continue to the chosen package.
    await waiting.waitForURL('**/credits/purchase?package=boost-50');
    await mail.waitForURL('**/credits/purchase?package=boost-50');
  });

  it.each([['side-gig-builder', 'Side-Gig Builder: $25 a month, renews until you cancel']])(
    'a sign-up for %s names its price',
    async (id, words) => {
      const page = await open(
        `/signup?redirect=${encodeURIComponent(`/credits/purchase?package=${id}`)}`,
        { api: server() },
      );
      await page.getByRole('heading', { name: words }).waitFor();
      await expect.poll(() => page.getByRole('button', { name: '$5' }).count()).toBe(0);
    },
  );

  it('another address can be confirmed instead', async () => {
    const api = server({
      'POST /api/auth/signup': pending,
      'POST /api/auth/resend-confirmation': done,
    });
    const page = await open('/signup', { api });
    await signUp(page);
    await page.getByRole('button', { name: 'Change address' }).click();
    await page.getByLabel('Email', { exact: true }).fill('other@example.com');
    await page.getByRole('button', { name: 'Send confirmation' }).click();
    await page.getByText('If an account exists, a link is on its way').first().waitFor();
    expect(bodies('/api/auth/resend-confirmation')).toEqual([{ email: 'other@example.com' }]);
    await expect
      .poll(() => page.getByRole('link', { name: 'Sign up again' }).getAttribute('href'))
      .toBe('/signup');
    expect(await violations(page)).toEqual([]);
  });
});

describe('a link of an email', () => {
  it.each([
    ['magic', 'Sign in'],
    ['undo', 'Restore my address'],
  ])(
    'the link %s leaves the address at once and is used only by its button',
    async (kind, label) => {
      const path = `/api/auth/links/${kind}`;
      const api = server({ [`POST ${path}`]: ok({ redirect: '/auth/error?message=link-used' }) });
      const page = await open(`/auth/link/${kind}#${secret}`, { api });
      expect(page.url()).toBe(`${site().origin}/auth/link/${kind}`);
      expect(bodies(path)).toEqual([]);
      await page.getByRole('button', { name: label, exact: true }).click();
      await page.waitForURL('**/auth/error?message=link-used');
      expect(bodies(path)).toEqual([{ token: secret }]);
      await page.goBack();
      expect(page.url()).not.toContain(secret);
    },
  );

  it.each([
    ['confirm', 'link-expired', 'Send a new link', '/api/auth/resend-confirmation'],
    ['magic', 'link-other-browser', 'Send a new link', '/api/auth/magic-link'],
    ['reset', 'link-other-browser', 'Send a new link', '/api/auth/password/reset-request'],
    ['undo', 'link-invalid', 'Send a reset link', '/api/auth/password/reset-request'],
  ] as const)(
    'the link %s answered with %s says so and offers another',
    async (kind, code, label, way) => {
      const api = server({
        [`POST /api/auth/links/${kind}`]: refusal(code),
        [`POST ${way}`]: done,
      });
      const page = await open(`/auth/link/${kind}#${secret}`, { api });
      await page.locator('main').getByRole('button').click();
      await page.getByText(identityProblems[code].message).first().waitFor();
      await expect.poll(() => focusedText(page)).toContain(identityProblems[code].title);
      expect(await violations(page)).toEqual([]);
      await page.getByLabel('Email').fill('ada@example.com');
      await page.getByRole('button', { name: label }).click();
      await page.getByText('If an account exists, a link is on its way').first().waitFor();
      expect(bodies(way)).toEqual([{ email: 'ada@example.com' }]);
    },
  );

  it('a used link is a success for the user it signed in', async () => {
    const api = server({
      'GET /api/auth/session': ok(sessionOf()),
      'POST /api/auth/links/magic': refusal('link-used'),
    });
    const page = await open(`/auth/link/magic#${secret}`, { api });
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByText("You're signed in").first().waitFor();
    await page.locator('main').getByRole('link', { name: 'Continue' }).click();
    await page.waitForURL('**/dashboard');
  });

  it('a used change-of-address link sends a signed-in user to the settings, not to the login', async () => {
    const api = server({
      'GET /api/auth/session': ok(sessionOf()),
      'POST /api/auth/links/email': refusal('link-used'),
    });
    const page = await open(`/auth/link/email#${secret}`, { api });
    await page.getByRole('button', { name: 'Use this address' }).click();
    await page.getByText('Your account settings show your current address.').waitFor();
    const ways = page.locator('main').getByRole('listitem').getByRole('link');
    await expect
      .poll(() => ways.allInnerTexts())
      .toEqual(['Dashboard', 'Account Settings', 'Contact us']);
  });

  it('a link can be retried when there was no response', async () => {
    let answers = 0;
    const api = server({
      'POST /api/auth/links/reset': () => {
        answers += 1;
        return answers === 1
          ? problem(503, 'unavailable', 'Unavailable')
          : ok({ redirect: `/reset-password#${secret}` });
      },
    });
    const page = await open(`/auth/link/reset#${secret}`, { api });
    const button = page.getByRole('button', { name: 'Choose a new password' });
    await button.click();
    await page.getByText("That didn't work").first().waitFor();
    await button.click();
    await page.waitForURL(`${site().origin}/reset-password`);
    await page.getByRole('button', { name: 'Save and sign in' }).waitFor();
  });

  it('a link to a new password names the account, in memory only', async () => {
    const redirect = `/reset-password?reason=undone#${secret}`;
    const api = server({
      'POST /api/auth/links/undo': ok({ redirect, email: 'zoe@example.com' }),
    });
    const page = await open(`/auth/link/undo#${secret}`, { api });
    await page.getByRole('button', { name: 'Restore my address' }).click();
    await page.getByText('New password for zoe@example.com').waitFor();
    await page.getByText('Not your address? Close this page.').waitFor();
    expect(page.url()).toBe(`${site().origin}/reset-password?reason=undone`);
    const kept = await page.evaluate(() =>
      JSON.stringify([history.state, Object.entries(sessionStorage)]),
    );
    expect(kept).not.toContain('zoe@');
    expect(await violations(page)).toEqual([]);
    await page.reload();
    await page.getByText('This page needs a link').waitFor();
  });

  it('a change-of-address link says which address counts now', async () => {
    const api = server({
      'GET /api/auth/session': ok(sessionOf()),
      'POST /api/auth/links/email': ok({
        redirect: '/auth/confirm?confirmed=true',
        email: 'zoe@example.com',
      }),
    });
    const page = await open(`/auth/link/email#${secret}`, { api });
    await page.getByRole('button', { name: 'Use this address' }).click();
    await page.getByText('Confirmed: zoe@example.com').waitFor();
    await page.waitForURL('**/dashboard');
  });

  describe('a link opened with a session', () => {
    const pair = `access_token=${fresh}&refresh_token=${fresh}`;
    const answers = (kind: string, redirect: string, email: string): Answers => ({
      'GET /api/auth/session': ok(sessionOf()),
      [`POST /api/auth/links/${kind}`]: ok({ redirect, email }),
      'POST /api/auth/exchange': ok(sessionOf()),
    });

    it.each([
      ['magic', 'Sign in', `/?code=${secret}`],
      ['confirm', 'Confirm my address', `/auth/confirm?confirmed=true&${pair}`],
    ])(
      'the link %s warns that it is for another account (%s, %s)',
      async (kind, label, redirect) => {
        const api = server(answers(kind, redirect, 'zoe@example.com'));
        const page = await open(`/auth/link/${kind}#${secret}`, { api });
        await settled(page);
        await page.getByRole('button', { name: label, exact: true }).click();
        await page
          .getByText(
            "You're signed in as ada@example.com. If you continue, you'll be signed in as zoe@example.com.",
          )
          .first()
          .waitFor();
        await expect.poll(() => focusedText(page)).toContain('This link is for another account');
        expect(await violations(page)).toEqual([]);
        expect(bodies('/api/auth/exchange')).toEqual([]);
        await page.getByRole('link', { name: 'Stay signed in' }).click();
        await page.waitForURL('**/dashboard');
        expect(bodies('/api/auth/exchange')).toEqual([]);
      },
    );

    it('a link for another account signs in on request, and does not mistake the old session for the new one', async () => {
      const api = server({
        ...answers('magic', `/#${pair}`, 'zoe@example.com'),
        'POST /api/auth/exchange': refusal('link-expired'),
      });
      const page = await open(`/auth/link/magic#${secret}`, { api });
      await settled(page);
      await page.getByRole('button', { name: 'Sign in', exact: true }).click();
      await page.getByRole('button', { name: 'Continue' }).click();
      await page.getByText("That sign-in link didn't work").first().waitFor();
      await page.getByText("You're still signed in.").waitFor();
      expect(bodies('/api/auth/exchange')).toHaveLength(1);
    });

    it('a link for the signed-in account asks nothing', async () => {
      const api = server(answers('magic', `/#${pair}`, 'ada@example.com'));
      const page = await open(`/auth/link/magic#${secret}`, { api });
      await settled(page);
      await page.getByRole('button', { name: 'Sign in', exact: true }).click();
      await page.waitForURL('**/dashboard');
      expect(bodies('/api/auth/exchange')).toHaveLength(1);
    });
  });

  it('a link leads only to pages of this site', async () => {
    const api = server({ 'POST /api/auth/links/magic': ok({ redirect: '//evil.example/' }) });
    const page = await open(`/auth/link/magic#${secret}`, { api });
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.waitForURL(`${site().origin}/login?redirect=*`);
  });

  it('an incomplete link can be pasted again in the same tab', async () => {
    const api = server({ 'POST /api/auth/links/magic': ok({ redirect: '/terms' }) });
    const page = await open('/auth/link/magic', { api });
    await page.getByText('This link is incomplete').waitFor();
    await page.evaluate((token) => location.assign(`#${token}`), secret);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.waitForURL('**/terms');
    expect(bodies('/api/auth/links/magic')).toEqual([{ token: secret }]);
  });
});

describe('/auth/confirm', () => {
  const withTokens = `/auth/confirm?confirmed=true&access_token=${fresh}&refresh_token=${fresh}`;

  /** Timers of two seconds fire only at `letTimePass`, because a slow machine would miss them. */
  async function holdBack(page: Page): Promise<void> {
    await page.addInitScript(() => {
      const [wait, cease] = [window.setTimeout.bind(window), window.clearTimeout.bind(window)];
      const held = new Map<number, () => void>();
      const hold = (work: () => void, ms?: number): number => {
        if (ms !== 2_000) return wait(work, ms);
        held.set(-1 - held.size, work);
        return -held.size;
      };
      const drop = (timer?: number): void => void (held.delete(timer ?? 0) || cease(timer));
      Object.assign(window, { setTimeout: hold, clearTimeout: drop });
      window.addEventListener('two-seconds-later', () => {
        for (const work of held.values()) work();
      });
    });
  }
  const letTimePass = (page: Page) =>
    page.evaluate(() => window.dispatchEvent(new Event('two-seconds-later')));

  it('the tokens sign in once, and the page continues to the dashboard after two seconds', async () => {
    const api = server({ 'POST /api/auth/exchange': ok(sessionOf()) });
    const page = await open(withTokens, { api, prepare: holdBack });
    expect(page.url()).toBe(`${site().origin}/auth/confirm?confirmed=true`);
    await page
      .getByText('Your email has been confirmed successfully! You are now logged in.')
      .first()
      .waitFor();
    expect(bodies('/api/auth/exchange')).toEqual([{ access_token: fresh, refresh_token: fresh }]);
    expect(await violations(page)).toEqual([]);
    expect(page.url()).toBe(`${site().origin}/auth/confirm?confirmed=true`);
    await letTimePass(page);
    await page.waitForURL(`${site().origin}/dashboard`);
  });

  it('refused tokens lead to the login', async () => {
    const api = server({ 'POST /api/auth/exchange': refusal('link-expired') });
    const page = await open(withTokens, { api, prepare: holdBack });
    await page
      .getByText('Your email has been confirmed successfully! Please sign in.')
      .first()
      .waitFor();
    await letTimePass(page);
    await page.waitForURL(`${site().origin}/login`);
  });

  it('a page without tokens uses an existing session', async () => {
    const api = server({ 'GET /api/auth/session': ok(sessionOf()) });
    const page = await open('/auth/confirm?confirmed=true', { api, prepare: holdBack });
    await page.getByText('You are now logged in.').first().waitFor();
    await letTimePass(page);
    await page.waitForURL(`${site().origin}/dashboard`);
  });

  it('the page stays while its button has the focus', async () => {
    const page = await open('/auth/confirm?confirmed=true', { api: server(), prepare: holdBack });
    const button = page.locator('main').getByRole('link', { name: 'Continue' });
    await button.focus();
    await page.getByText("Continue to the login page when you're ready.").waitFor();
    await letTimePass(page);
    expect(page.url()).toContain('/auth/confirm');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/login');
  });

  it.each([
    [
      '/auth/confirm?confirmed=true&error=Call%20us',
      'Failed to confirm your email. Please try again or contact support.',
    ],
  ])('the page %s says: %s', async (path, sentence) => {
    const api = server({ 'POST /api/auth/resend-confirmation': done });
    const page = await open(path, { api });
    await page.getByText(sentence).first().waitFor();
    await expect.poll(() => page.getByText('Call us').count()).toBe(0);
    const main = page.locator('main');
    await expect.poll(() => main.getByRole('link', { name: 'Sign up again' }).count()).toBe(1);
    await expect.poll(() => main.getByRole('link', { name: 'Login' }).count()).toBe(1);
    await page.getByLabel('Email').fill('ada@example.com');
    await page.getByRole('button', { name: 'Send confirmation' }).click();
    await page.getByText('If an account exists, a link is on its way').first().waitFor();
  });
});

describe('/auth/error', () => {
  it.each([['Your%20account%20is%20locked', 'An authentication error occurred']])(
    'the page ?message=%s says: %s',
    async (message, sentence) => {
      const page = await open(`/auth/error?message=${message}`, { api: server() });
      await page.getByText(sentence).first().waitFor();
      await expect.poll(() => page.getByText('locked').count()).toBe(0);
      const main = page.locator('main');
      await expect
        .poll(() => main.getByRole('button', { name: 'Send a new link' }).count())
        .toBe(1);
      await expect
        .poll(() => main.getByRole('link').allInnerTexts())
        .toEqual(['Sign up', 'Login', 'Contact us']);
    },
  );

  it.each(['/auth/error?message=link-used', '/auth/confirm?error=link-used'])(
    'the page %s does not call a signed-in user signed out',
    async (path) => {
      const page = await open(path, { api: server({ 'GET /api/auth/session': ok(sessionOf()) }) });
      await page.getByText("You're still signed in").first().waitFor();
      const main = page.locator('main');
      await expect.poll(() => main.getByText(/aren't signed in|couldn't confirm/).count()).toBe(0);
      await expect.poll(() => main.getByRole('link', { name: /Login|Sign up/ }).count()).toBe(0);
      await main.getByRole('link', { name: 'Dashboard' }).waitFor();
      expect(await violations(page)).toEqual([]);
    },
  );
});

describe('a forgotten password', () => {
  it('a request for a reset gets the same reply for every address, and another link after a minute', async () => {
    const api = server({ 'POST /api/auth/password/reset-request': done });
    const page = await open('/forgot-password', { api, isFresh: true });
    await page.clock.install();
    await page.getByRole('button', { name: 'Send link' }).click();
    await page.getByText('Email is required').waitFor();
    await page.getByLabel('Email').fill('unknown@example.com');
    await page.keyboard.press('Enter');
    await page.getByText('If an account exists, a link is on its way').first().waitFor();
    await expect.poll(() => page.getByRole('button', { name: /again in \d+s/ }).count()).toBe(1);
    await page.keyboard.press('Enter');
    await page.clock.fastForward(61_000);
    expect(bodies('/api/auth/password/reset-request')).toEqual([{ email: 'unknown@example.com' }]);
    await page.getByRole('button', { name: 'Send link again' }).click();
    await expect.poll(() => bodies('/api/auth/password/reset-request').length).toBe(2);
  });

  it('a new password follows the rules of sign-up, signs in and leads to the dashboard', async () => {
    const api = server({ 'POST /api/auth/password/reset': ok(sessionOf()) });
    const page = await open(`/reset-password?reason=confirmed#${secret}`, { api });
    expect(page.url()).toBe(`${site().origin}/reset-password?reason=confirmed`);
    await page.getByText('Your email address is confirmed').first().waitFor();
    const password = page.getByLabel('Password', { exact: true });
    await password.fill('short');
    await page.getByLabel('Confirm password', { exact: true }).fill('other');
    await page.getByRole('button', { name: 'Save and sign in' }).click();
    await page.getByText('Password must be at least 8 characters').waitFor();
    await page.getByText('Passwords do not match').waitFor();
    expect(await violations(page)).toEqual([]);
    await password.fill('Correct1horse');
    await page.getByLabel('Confirm password', { exact: true }).fill('Correct1horse');
    await page.keyboard.press('Enter');
    await page.waitForURL(`${site().origin}/dashboard`);
    expect(bodies('/api/auth/password/reset')).toEqual([
      { token: secret, password: 'Correct1horse' },
    ]);
  });

  it('an expired reset link offers a new one', async () => {
    const api = server({ 'POST /api/auth/password/reset': refusal('link-used') });
    const page = await open(`/reset-password#${secret}`, { api });
    await page.getByLabel('Password', { exact: true }).fill('Correct1horse');
    await page.getByLabel('Confirm password', { exact: true }).fill('Correct1horse');
    await page.keyboard.press('Enter');
    await page.getByText('This link no longer works').first().waitFor();
    await page.getByRole('link', { name: 'Send a new link' }).click();
    await page.waitForURL('**/forgot-password');
    await page.getByRole('heading', { name: 'Forgot your password?' }).waitFor();
    // The link's secret is forgotten with its page.
    await page.goBack();
    await page.getByText('This page needs a link').waitFor();
  });
});

describe('a sign-in link at the home page', () => {
  const pair = `access_token=${fresh}&refresh_token=${fresh}`;

  it.each([
    ['/#', '&redirect=%2Fcredits', '/credits'],
    ['/#', '&redirect=https%3A%2F%2Fevil.example', '/dashboard'],
  ])('tokens behind %s%s sign in and lead to %s', async (before, after, next) => {
    const api = server({ 'POST /api/auth/exchange': ok(sessionOf()) });
    const page = await open(`${before}${pair}${after}`, { api });
    await page.waitForURL(`${site().origin}${next}`);
    expect(bodies('/api/auth/exchange')).toEqual([{ access_token: fresh, refresh_token: fresh }]);
  });

  it.each([
    ['/?access_token=a.b.c', 'Access token payload cannot be decoded, Refresh token is missing'],
  ])('the broken link %s is explained and a new one is offered', async (path, errors) => {
    const api = server({ 'POST /api/auth/magic-link': done });
    const page = await open(path, { api });
    await page.getByText(`Invalid tokens: ${errors}`).first().waitFor();
    expect(await faultsInEveryLook(page)).toEqual([]);
    expect(page.url()).toBe(`${site().origin}/`);
    expect(bodies('/api/auth/exchange')).toEqual([]);
    await page.getByLabel('Email').fill('ada@example.com');
    await page.getByRole('button', { name: 'Send a new link' }).click();
    await page.getByText('If an account exists, a link is on its way').first().waitFor();
    await page.getByRole('button', { name: 'Dismiss' }).click();
    await expect.poll(() => page.locator('main').getByText('Invalid tokens').count()).toBe(0);
  });

  it("the server decides whether a token has expired, because a device's clock may be wrong", async () => {
    const old = linkToken(Date.now() / 1000 - 300);
    const path = `/#access_token=${old}&refresh_token=${old}`;
    const taken = server({ 'POST /api/auth/exchange': ok(sessionOf()) });
    await (await open(path, { api: taken })).waitForURL('**/dashboard');
  });

  it('a token that the server also considers expired is reported', async () => {
    const old = linkToken(Date.now() / 1000 - 300);
    const api = server({ 'POST /api/auth/exchange': refusal('link-expired') });
    const page = await open(`/#access_token=${old}&refresh_token=${fresh}`, { api });
    await page.getByText('Invalid tokens: Access token is expired').first().waitFor();
  });

  it('a code is exchanged with the verifier kept by this tab, and is refused without one', async () => {
    const api = server({ 'POST /api/auth/exchange': ok(sessionOf()) });
    const page = await open(`/?code=${secret}`, { api });
    await page.getByText(identityProblems['link-other-browser'].message).first().waitFor();
    await page.evaluate(() => sessionStorage.setItem('sevenfold.pkce', 'v'.repeat(43)));
    await page.goto(`${site().origin}/?code=${secret}`);
    await page.waitForURL('**/dashboard');
    expect(bodies('/api/auth/exchange')).toEqual([{ code: secret, code_verifier: 'v'.repeat(43) }]);
  });

  it('an error is removed from the address, and its words are never shown', async () => {
    const page = await open('/?error=server_error&error_description=Call%20us', { api: server() });
    await page.getByText('An authentication error occurred').first().waitFor();
    expect(page.url()).toBe(`${site().origin}/`);
    await expect.poll(() => page.getByText('Call us').count()).toBe(0);
  });
});
