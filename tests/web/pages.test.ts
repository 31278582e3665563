import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { policyVersion } from '#services/identity/contract/forms.ts';
import { backupDays } from '#services/platform/contract.ts';
import { mailLimits } from '#services/platform/mail/mail.ts';
import { launchBrowser } from './support/browser.ts';
import { listedPaths } from './specification/pages.ts';
import { violations } from './support/member-site.ts';
import { settled, watchRequests } from './support/settled.ts';
import {
  member,
  newcomer,
  ok,
  problem,
  serveSite,
  sessionOf,
  type Site,
  visitor,
} from './support/site.ts';
import { createTabs, type Tabs } from './support/tabs.ts';

/**
 * The signed-out pages in a real browser. An error in the console, or a report of the content policy,
 * fails its test.
 */
const paths = [...listedPaths, '/nowhere'];

let browser: Browser;
let site: Site;
let tabs: Tabs;
let consoleErrors: string[] = [];
/** Console errors that a test expects. */
let expected: RegExp | null = null;

beforeAll(async () => {
  [browser, site] = await Promise.all([launchBrowser(), serveSite()]);
  tabs = createTabs(browser, site.origin, (context) => {
    context.on('weberror', (error) => consoleErrors.push(error.error().message));
    context.on('console', (message) => {
      // A failed request is no error of the page.
      if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
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
  site.answer(visitor);
  site.calls.length = 0;
  site.files.length = 0;
  const unexpected = consoleErrors.filter((error) => !expected?.test(error));
  consoleErrors = [];
  expected = null;
  expect(unexpected).toEqual([]);
});

async function open(
  path: string,
  options: { width?: number; motion?: 'no-preference'; fontsLateByMs?: number } = {},
): Promise<Page> {
  const { fontsLateByMs, ...look } = options;
  const page = await tabs.open(
    { motion: 'reduce', ...look },
    { isFresh: fontsLateByMs !== undefined },
  );
  if (fontsLateByMs !== undefined)
    await page.route('**/*.woff2', async (route) => {
      await sleep(fontsLateByMs);
      await route.continue();
    });
  watchRequests(page);
  await page.goto(`${site.origin}${path}`);
  await settled(page);
  return page;
}

/** The layout shift since the page was opened. */
async function layoutShift(page: Page): Promise<number> {
  return page.evaluate(
    () =>
      new Promise<number>((resolve) => {
        let sum = 0;
        new PerformanceObserver((list) => {
          for (const entry of list.getEntries()) sum += Number(Reflect.get(entry, 'value'));
        }).observe({ type: 'layout-shift', buffered: true });
        setTimeout(() => resolve(sum), 200);
      }),
  );
}

/** Links and controls that are too small to press. */
function smallTargets(page: Page): Promise<string[]> {
  return page.evaluate(() =>
    [...document.querySelectorAll('a[href], button, input, select')]
      .filter(
        (element) => element.checkVisibility() && !element.closest('p, label, .prose li, .sr-only'),
      )
      .map((element) => ({ element: element.outerHTML, box: element.getBoundingClientRect() }))
      .filter(({ box }) => box.height > 1 && (box.height < 24 || box.width < 20))
      .map(({ element }) => element),
  );
}

/** Whether this machine has one of the fallback typefaces that `fonts.css` fits to ours. */
async function hasStandIn(): Promise<boolean> {
  const loads = ['Arial', 'Liberation Sans', 'Arimo', 'Roboto', 'DejaVu Sans'].map((name) =>
    new FontFace('Stand-in', `local('${name}')`).load(),
  );
  return (await Promise.allSettled(loads)).some(({ status }) => status === 'fulfilled');
}

describe('every public page', () => {
  let bare: Page;
  let hasStandInFonts = false;
  beforeAll(async () => {
    bare = await browser.newPage({
      viewport: { width: 1280, height: 900 },
      javaScriptEnabled: false,
    });
    const page = await browser.newPage();
    hasStandInFonts = await page.evaluate(hasStandIn);
    await page.context().close();
  });

  it.each(paths)(
    '%s reads the same without its script, holds still, also when its typefaces arrive late, and has no small target',
    async (path) => {
      await bare.goto(`${site.origin}${path}`);
      const text = await bare.locator('main').innerText();
      // Without a typeface that stands in, text moves when ours arrives.
      const page = await open(path, {
        motion: 'no-preference',
        ...(hasStandInFonts ? { fontsLateByMs: 300 } : {}),
      });
      await expect.poll(() => page.locator('main').innerText()).toBe(text);
      expect(await layoutShift(page)).toBeLessThanOrEqual(0.02);
      await page.setViewportSize({ width: 390, height: 900 });
      expect(await smallTargets(page)).toEqual([]);
    },
  );
});

/** What the server sends for a path, without running its script. */
async function sent(path: string): Promise<{ status: number; html: string }> {
  const response = await fetch(`${site.origin}${path}`);
  return { status: response.status, html: await response.text() };
}

const wordsOf = async (path: string): Promise<string> => {
  const { html } = await sent(path);
  const main = /<main[^]*<\/main>/.exec(html)?.[0] ?? '';
  return main
    .replaceAll(/<[^>]+>/g, '')
    .replaceAll('&#x27;', "'")
    .replaceAll(/\s+/g, ' ');
};

it('an address without a page is answered with 404, the home page and a notice', async () => {
  // The second is below a page of the signed-in area, whose route must not match it.
  for (const path of ['/nowhere/at-all', '/credits/nowhere'])
    expect((await sent(path)).status).toBe(404);
  const page = await open('/credits/nowhere');
  await page.getByText("We can't find that page").first().waitFor();
  await expect.poll(() => page.locator('h1').innerText()).toContain('Ask a business question');
  await expect.poll(() => page.title()).toBe('Page not found · Sevenfold');
});

describe('a navigation', () => {
  it('a navigation focuses the heading, changes the title and starts at the top', async () => {
    const page = await open('/');
    await page.getByRole('contentinfo').getByRole('link', { name: 'Terms of Service' }).click();
    await page.waitForURL('**/terms');
    await expect.poll(() => page.evaluate(() => document.activeElement?.tagName)).toBe('H1');
    await expect.poll(() => page.title()).toBe('Terms of Service · Sevenfold');
    await expect.poll(() => page.evaluate(() => window.scrollY)).toBe(0);
  });

  it('a link to a part of a page scrolls to it and focuses it', async () => {
    const page = await open('/login');
    await page
      .getByRole('navigation', { name: 'Main' })
      .getByRole('link', { name: 'Pricing' })
      .click();
    await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe('pricing');
    await expect.poll(() => page.evaluate(() => window.scrollY)).toBeGreaterThan(500);
  });

  it('the first Tab stop is a link that skips the navigation', async () => {
    const page = await open('/');
    await page.keyboard.press('Tab');
    await expect
      .poll(() => page.evaluate(() => document.activeElement?.textContent))
      .toBe('Skip to content');
    await page.keyboard.press('Enter');
    await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe('main');
  });

  it('the phone menu opens as a dialog and returns the focus', async () => {
    const page = await open('/', { width: 390 });
    await page.getByRole('button', { name: 'Menu' }).click();
    await expect.poll(() => page.getByRole('dialog', { name: 'Menu' }).isVisible()).toBe(true);
    expect(await violations(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0);
    await expect.poll(() => page.evaluate(() => document.activeElement?.textContent)).toBe('Menu');
  });
});

describe('the legal pages', () => {
  it('the privacy page makes no promises for the operator, and names all stored data and its recipients', async () => {
    const words = await wordsOf('/privacy');
    for (const fact of [
      `Backups are kept for ${backupDays} days at most`,
      'When a backup is restored, those deletions are repeated before the site answers',
      'Stripe receives your name, email address, the ID of your account and the package',
      'Your recipes',
      'the providers of the models that work on it, not only of its panel',
      'can be restored for 30 days',
      `the rest for ${mailLimits.keptDays} days`,
      'Nothing removes them automatically',
      'The operator of this site announces changes to this policy at least 30 days before',
    ])
      expect(words).toContain(fact);
  });

  it('the terms describe the credit history and taxes correctly', async () => {
    const words = await wordsOf('/terms');
    expect(words).toContain('Every purchase, charge and return is a line of your credit history');
    expect(words).toContain('If this site adds tax, the payment page');
  });
});

it('the home page leads to the method, which is the whole text of docs/method.md', async () => {
  const page = await open('/');
  await page
    .getByRole('main')
    .getByRole('link', { name: /^The method in full/ })
    .click();
  await page.waitForURL('**/method');
  await page.getByRole('heading', { name: 'In short' }).waitFor();
  const titles = await page.getByRole('main').getByRole('heading').allInnerTexts();
  const written = readFileSync('docs/method.md', 'utf8').matchAll(/^#+ (.+)$/gm);
  expect(titles).toEqual([...written].map(([, title]) => title));
  // Tables are wider than a phone and scroll by keyboard.
  expect(await page.getByRole('group', { name: 'Table' }).count()).toBeGreaterThan(5);
});

describe('the theme', () => {
  it('a chosen theme is applied, and the server writes it into every later page', async () => {
    const page = await open('/');
    await page.getByRole('contentinfo').getByText('Dark', { exact: true }).click();
    const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    await expect.poll(() => paper()).toBe('rgb(15, 23, 24)');
    const html = await (await page.request.get(`${site.origin}/terms`)).text();
    expect(html).toContain('<html lang="en" data-theme="dark">');
    expect(html).toContain(policyVersion);
    await page.getByRole('contentinfo').getByText('System', { exact: true }).click();
    await expect.poll(() => paper()).toBe('rgb(248, 246, 240)');
  });
});

const signIn = async (page: Page, email: string, password: string): Promise<void> => {
  await page.getByLabel('Email').fill(email);
  await page.getByLabel('Password', { exact: true }).fill(password);
  await page.getByRole('button', { name: 'Login' }).click();
};

describe('logging in', () => {
  it('the login form names empty fields, focuses the first and clears errors on edit', async () => {
    const page = await open('/login');
    await page.getByRole('button', { name: 'Login' }).click();
    const email = page.getByLabel('Email');
    await expect.poll(() => page.getByText('Email is required').isVisible()).toBe(true);
    await expect.poll(() => page.getByText('Password is required').isVisible()).toBe(true);
    await expect
      .poll(() => email.evaluate((element) => element === document.activeElement))
      .toBe(true);
    await expect.poll(() => email.getAttribute('aria-invalid')).toBe('true');
    const describedBy = (await email.getAttribute('aria-describedby')) ?? '';
    await expect
      .poll(() => page.locator(`[id="${describedBy}"]`).innerText())
      .toBe('Email is required');
    await email.fill('a');
    await expect.poll(() => page.getByText('Email is required').count()).toBe(0);
    expect(site.calls.filter(({ path }) => path === '/api/auth/login')).toEqual([]);
  });

  it('the login form shows and focuses a refusal until a field is edited', async () => {
    site.answer(
      newcomer(problem(401, 'wrong-credentials', 'Login failed. Please check your credentials.')),
    );
    const page = await open('/login');
    await signIn(page, 'ada@example.com', 'wrong-one');
    const banner = page.getByText('Login failed', { exact: true });
    await banner.waitFor();
    await expect
      .poll(() => page.evaluate(() => document.activeElement?.textContent))
      .toContain('Login failed. Please check your credentials.');
    expect(await violations(page)).toEqual([]);
    await page.getByLabel('Password', { exact: true }).fill('another-one');
    await expect.poll(() => banner.count()).toBe(0);
    await expect.poll(() => page.getByLabel('Email').inputValue()).toBe('ada@example.com');
  });

  it('a login returns to the requested page, and the token stays out of storage', async () => {
    site.answer(newcomer(ok(sessionOf())));
    const page = await open('/credits?type=refund');
    await page.waitForURL('**/login?redirect=*');
    await signIn(page, 'ada@example.com', 'Correct1horse');
    await page.waitForURL('**/credits?type=refund');
    const login = site.calls.find(({ path }) => path === '/api/auth/login');
    expect(login?.body).toEqual({
      email: 'ada@example.com',
      password: 'Correct1horse',
      remember_me: false,
    });
    expect(login?.headers.get('idempotency-key')).toMatch(/^[\x21-\x7e]{1,128}$/);
    const stored = await page.evaluate(() =>
      JSON.stringify([Object.entries(localStorage), Object.entries(sessionStorage)]),
    );
    expect(stored).not.toContain('token-of-this-test');
  });

  it('a login never redirects to another site', async () => {
    site.answer(newcomer(ok(sessionOf())));
    const page = await open('/login?redirect=https%3A%2F%2Fevil.example%2F');
    await signIn(page, 'ada@example.com', 'Correct1horse');
    await page.waitForURL(`${site.origin}/dashboard`);
  });

  it('a visitor with a session skips the login', async () => {
    site.answer(member);
    const page = await open('/login');
    await page.waitForURL('**/dashboard');
    await page.getByRole('heading', { level: 1, name: /Ada$/ }).waitFor();
  });

  it('text typed before the script has loaded is kept', async () => {
    const page = await open('/login');
    await page.route('**/assets/index-*.js', async (route) => {
      await new Promise((resolve) => setTimeout(resolve, 500));
      await route.continue();
    });
    await page.goto(`${site.origin}/login`, { waitUntil: 'commit' });
    await page.getByLabel('Email').fill('early@example.com');
    await page.getByRole('button', { name: 'Login' }).and(page.locator(':enabled')).waitFor();
    await expect.poll(() => page.getByLabel('Email').inputValue()).toBe('early@example.com');
  });

  it('the login page works without the scripts of its footer and its recorded run', async () => {
    const page = await open('/terms');
    await page.route(/assets\/(footer|player)-/, (route) => route.abort());
    // The failed request is also logged to the console.
    expected = /ERR_FAILED/;
    await page.goto(`${site.origin}/login`);
    await page.getByRole('button', { name: 'Login', exact: true }).click();
    await page.getByText('Email is required').first().waitFor();
    await page.getByRole('contentinfo').getByRole('link', { name: 'Security' }).waitFor();
  });

  it('the login page mentions the demo account only in local mode', async () => {
    const local = await serveSite({ isLocal: true });
    try {
      const page = await open('/login');
      await expect.poll(() => page.getByText('demo account').count()).toBe(0);
      await page.goto(`${local.origin}/login`);
      await page.getByText('demo account').waitFor();
    } finally {
      await local.close();
    }
  });
});

describe('signing up', () => {
  const fill = async (page: Page, values: Partial<Record<string, string>> = {}): Promise<void> => {
    await page.getByLabel('Full name').fill(values['name'] ?? 'Ada Example');
    await page.getByLabel('Email').fill(values['email'] ?? 'ada@example.com');
    await page.getByLabel('Password', { exact: true }).fill(values['password'] ?? 'Correct1horse');
    await page
      .getByLabel('Confirm password', { exact: true })
      .fill(values['confirm'] ?? 'Correct1horse');
    await page.getByRole('checkbox').check();
  };
  const submit = (page: Page): Promise<void> =>
    page.getByRole('button', { name: 'Start Finding Opportunities - $5' }).click();

  it('the sign-up form ticks off password rules as they are met', async () => {
    const page = await open('/signup');
    const rules = page.getByRole('list', { name: 'Password rules' });
    await expect.poll(() => rules.getByText('Met:').count()).toBe(0);
    await page.getByLabel('Password', { exact: true }).fill('abcdefgH');
    await expect.poll(() => rules.getByText('Met:').count()).toBe(3);
    await page.getByLabel('Password', { exact: true }).fill('abcdefgH1');
    await expect.poll(() => rules.getByText('Met:').count()).toBe(4);
  });

  it('an empty sign-up lists its errors, and each attempt shows one toast', async () => {
    const page = await open('/signup', { width: 390 });
    const toast = page
      .getByRole('region', { name: 'Notifications' })
      .getByText('Form validation failed');
    for (let attempts = 1; attempts <= 2; attempts += 1) {
      await submit(page);
      for (const sentence of [
        'Full name is required',
        'Email is required',
        'Password is required',
        'Please confirm your password',
        'You must accept the Terms of Service and Privacy Policy',
      ]) {
        await expect.poll(() => page.getByText(sentence, { exact: true }).count()).toBe(2);
      }
      await expect.poll(() => toast.count()).toBe(1);
    }
    expect(await violations(page)).toEqual([]);
  });

  it('a sign-up sends the trimmed name and the accepted terms, without the second password', async () => {
    site.answer(
      newcomer({ status: 201, body: { data: { ...sessionOf(), needsEmailVerification: false } } }),
    );
    const page = await open('/signup');
    await fill(page, { name: '  Ada Example ' });
    await submit(page);
    await page.waitForURL('**/dashboard');
    const { body } = site.calls.find(({ path }) => path === '/api/auth/signup') ?? {};
    expect(body).toEqual({
      name: 'Ada Example',
      email: 'ada@example.com',
      password: 'Correct1horse',
      terms_version: policyVersion,
    });
  });

  it('a sign-up with a taken address shows it beside its field and in the banner', async () => {
    site.answer(
      newcomer(
        problem(
          409,
          'email-in-use',
          'An account with this email already exists. Try signing in instead.',
        ),
      ),
    );
    const page = await open('/signup');
    await fill(page);
    await submit(page);
    await page.getByText('Signup failed', { exact: true }).waitFor();
    // In the banner, beside the field, and in the toast.
    await expect
      .poll(() => page.getByText('Email already in use', { exact: true }).count())
      .toBe(3);
    await expect
      .poll(() => page.evaluate(() => document.activeElement?.textContent))
      .toContain('Try signing in instead.');
    expect(await violations(page)).toEqual([]);
    await expect.poll(() => page.getByLabel('Email').getAttribute('aria-invalid')).toBe('true');
    await expect.poll(() => page.getByLabel('Full name').inputValue()).toBe('Ada Example');
  });
});

describe('the signed-in area', () => {
  it('the signed-in area shows its links, and on phones four of them at the bottom edge', async () => {
    site.answer(member);
    const page = await open('/dashboard', { width: 390 });
    const places = page.getByRole('navigation', { name: 'Main sections' });
    await places.waitFor();
    await expect
      .poll(() => places.locator('a, button').allInnerTexts())
      .toEqual(['Dashboard', 'New', 'Credits', 'Menu']);
    expect(await violations(page)).toEqual([]);
    await places.getByRole('button', { name: 'Menu' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Logout' }).waitFor();
    expect(await violations(page)).toEqual([]);
  });

  it('a logout leaves the signed-in area in every tab and removes the drafts', async () => {
    site.answer(member);
    const first = await open('/dashboard');
    const second = await open('/credits');
    await first.evaluate(() => localStorage.setItem('sevenfold.draft.usr_1.optimization', '{}'));
    await first.getByRole('button', { name: 'Logout' }).click();
    await first.waitForURL('**/login');
    await second.waitForURL('**/login');
    await expect.poll(() => first.evaluate(() => Object.keys(localStorage))).toEqual([]);
    // The page leaves before the call has arrived.
    await expect
      .poll(() => site.calls.filter(({ path }) => path === '/api/auth/logout'))
      .toHaveLength(1);
  });

  it('the signed-in area reports an unreachable server and retries on request', async () => {
    site.answer(() => problem(503, 'unavailable', 'Unavailable'));
    const page = await open('/dashboard');
    await page.getByText("We couldn't show this page").waitFor();
    // The failure is also logged to the console.
    expected = /^ApiProblem: Unavailable/;
    site.answer(member);
    await page.getByRole('button', { name: 'Try Again' }).click();
    await page.getByRole('heading', { level: 1, name: /Ada$/ }).waitFor();
  });

  it('the page stays and asks for a new sign-in when the session ends', async () => {
    site.answer(member);
    const page = await open('/dashboard');
    site.answer(newcomer(ok(sessionOf())));
    await page.evaluate(() => {
      new BroadcastChannel('sevenfold').postMessage('signed-in');
    });
    await page.getByText('Please sign in again').first().waitFor();
    await page.getByRole('button', { name: 'Login' }).click();
    const dialog = page.getByRole('dialog');
    await expect.poll(() => dialog.getByLabel('Email').inputValue()).toBe('ada@example.com');
    await dialog.getByLabel('Password', { exact: true }).fill('Correct1horse');
    await dialog.getByRole('button', { name: 'Login' }).click();
    await expect.poll(() => page.getByText('Your session has expired').count()).toBe(0);
    expect(page.url()).toBe(`${site.origin}/dashboard`);
  });
});
