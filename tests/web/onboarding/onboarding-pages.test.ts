import { describe, expect, it } from 'vitest';
import type { Onboarding, OnboardingRequest } from '#services/onboarding/contract.ts';
import { closed } from '#tests/optimizations/run/run-script.ts';
import {
  failing,
  faultsInEveryLook,
  member,
  useMemberSite,
} from '#tests/web/support/member-site.ts';
import { type Api, ok, problem, sessionOf } from '#tests/web/support/site.ts';
import { storyOf } from '#tests/web/support/run-story.ts';
import { audited, onboardingOf } from './story.ts';

const { open, site } = useMemberSite();

/** A server that stores the answers it is sent. */
function api(begin: Partial<Onboarding> = {}, answers: Parameters<typeof member>[0] = {}): Api {
  let stored = onboardingOf(begin);
  return member({
    'GET /api/onboarding': () => ok(stored),
    'PUT /api/onboarding': ({ body }) => {
      const { version, ...change } = body as OnboardingRequest;
      if (version !== stored.version)
        return problem(409, 'onboarding-changed', 'Your answers were changed.');
      stored = onboardingOf({
        ...stored,
        ...(change as Partial<Onboarding>),
        version: version + 1,
      });
      return ok(stored);
    },
    ...answers,
  });
}

const path = '/onboarding/singularity';
const sent = (method: string, where: string) =>
  site().calls.filter((call) => call.method === method && call.path === where);

describe('the onboarding', () => {
  it.each<[string, Partial<Onboarding>]>([
    ['What it costs you a year', { auditData: audited }],
    ['Choose a challenge', { currentStage: 2, auditData: audited }],
    [
      'Insights (sample)',
      {
        currentStage: 3,
        auditData: audited,
        selectedChallenge: 'premium-positioning',
        demonstration: { kind: 'sample', finished: true },
      },
    ],
    [
      'What activation does',
      {
        currentStage: 4,
        selectedChallenge: 'premium-positioning',
        demonstration: { kind: 'sample', finished: true },
      },
    ],
  ])('the stage with %s passes axe and fits every window, light and dark', async (words, begin) => {
    const page = await open(path, { api: api(begin) });
    await page.getByRole('heading', { name: words }).waitFor();
    expect(await faultsInEveryLook(page)).toEqual([]);
  });

  it('steps can be skipped and gone back to, and each move is saved', async () => {
    const page = await open(path, {
      api: api({ bonus: { credits: 0, worth_usd: null, state: 'off' } }),
    });
    const skip = page.getByRole('button', { name: 'Skip' });
    await skip.click();
    await page.getByRole('heading', { name: 'Choose a challenge' }).waitFor();
    expect(await page.getByRole('button', { name: 'Continue' }).isDisabled()).toBe(true);
    await skip.click();
    await page.getByText('Choose a challenge first').waitFor();
    await skip.click();
    await page.getByText('You chose no challenge').waitFor();
    // The operator has set no bonus.
    expect(await page.getByText(/bonus/i).count()).toBe(0);
    const current = page.locator('[aria-current="step"]');
    await expect.poll(() => current.textContent()).toMatch(/Activation/);
    await page.getByRole('button', { name: 'Back' }).click();
    await expect.poll(() => current.textContent()).toMatch(/Demonstration/);
    await expect
      .poll(() =>
        sent('PUT', '/api/onboarding').map(({ body }) => (body as OnboardingRequest).currentStage),
      )
      .toEqual([2, 3, 4, 3]);
    await page.reload();
    await page.getByText('Step 3 of 4').waitFor();
  });

  it('the sample plays its five steps, is labeled as a sample, and is remembered', async () => {
    const begin = { currentStage: 3, selectedChallenge: 'premium-positioning' } as const;
    const page = await open(path, { api: api(begin) });
    await page.getByRole('button', { name: 'Play sample' }).click();
    const bar = page.getByRole('progressbar', { name: 'Progress of the sample' });
    await expect.poll(() => bar.getAttribute('value')).toBe('20');
    await page.getByText('94%').waitFor();
    expect(await bar.getAttribute('value')).toBe('100');
    for (const label of ['Confidence (sample)', 'Processing time (sample)', 'Sample data'])
      expect(await page.getByText(label, { exact: true }).count()).toBe(1);
    await page.getByText('Your answers are saved to your account.').waitFor();
    expect(sent('PUT', '/api/onboarding').at(-1)?.body).toMatchObject({
      demonstration: { kind: 'sample', finished: true },
    });
  });

  it('answers of another tab are not overwritten before the person says so', async () => {
    const other = onboardingOf({ version: 5, auditData: { ...audited, orchestrationHours: 40 } });
    const page = await open(path, {
      api: api(
        {},
        {
          'PUT /api/onboarding': ({ body }) =>
            (body as OnboardingRequest).version === 5
              ? ok({ ...other, version: 6 })
              : problem(409, 'onboarding-changed', 'Your answers were changed.'),
        },
      ),
    });
    await page.getByLabel('Hours a week between AI tools').fill('12');
    await page
      .getByText(/changed in another tab/)
      .first()
      .waitFor();
    site().answer(api(other));
    await page.getByRole('button', { name: 'Use the other answers' }).click();
    await expect
      .poll(() => page.getByLabel('Hours a week between AI tools').inputValue())
      .toBe('40');
  });

  it('a refused activation keeps the page, says what is safe, and can be tried again', async () => {
    const begin = { currentStage: 4, selectedChallenge: 'premium-positioning' } as const;
    const page = await open(path, {
      api: api(begin, { 'POST /api/onboarding/complete': failing }),
    });
    await page.getByRole('button', { name: 'Activate' }).click();
    await page.getByText("We couldn't activate your account").first().waitFor();
    await page.getByText('Your answers are saved.', { exact: true }).waitFor();
    const done = onboardingOf({
      ...begin,
      completedAt: '2026-11-24T10:00:00.000Z',
      creditsActivated: true,
      bonus: { credits: 50, worth_usd: 25, state: 'granted' },
    });
    site().answer(api(begin, { 'POST /api/onboarding/complete': ok(done) }));
    await page.getByRole('button', { name: 'Activate' }).click();
    await page.waitForURL('**/optimization?challenge=premium-positioning');
    await page
      .getByText('We added 50 bonus credits to your balance.')
      .filter({ visible: true })
      .first()
      .waitFor();
  });

  it('answers that are not saved are not activated, and the page says so', async () => {
    const begin = { currentStage: 4 } as const;
    const page = await open(path, { api: api({ ...begin, currentStage: 3 }) });
    const skip = page.getByRole('button', { name: 'Skip' });
    await skip.waitFor();
    site().answer(api(begin, { 'PUT /api/onboarding': failing }));
    await skip.click();
    await page.getByText("We couldn't save your answers").first().waitFor();
    await page.getByRole('button', { name: 'Activate' }).click();
    await expect
      .poll(() => page.evaluate(() => document.activeElement?.textContent))
      .toContain("We couldn't save your answers");
    expect(sent('POST', '/api/onboarding/complete')).toEqual([]);
    expect(await page.getByText('Your answers are saved.', { exact: true }).count()).toBe(0);
  });

  it('a run that the answers could not name is not started, and the page says so', async () => {
    const created = storyOf(closed()).copy(1);
    const page = await open(path, {
      api: api(
        {
          currentStage: 3,
          selectedChallenge: 'premium-positioning',
          bonus: { credits: 0, worth_usd: null, state: 'off' },
        },
        {
          'PUT /api/onboarding': failing,
          'POST /api/optimizations': ok(created),
          [`GET /api/optimizations/${created.id}`]: ok(created),
        },
      ),
    });
    await page.getByRole('button', { name: /^Start run/ }).click();
    await page.getByText("We couldn't save your answers").first().waitFor();
    // Read again once the start has ended, either way.
    await expect.poll(() => sent('GET', '/api/credits/balance').length).toBe(2);
    expect(sent('POST', '/api/optimizations')).toHaveLength(1);
    expect(sent('POST', `/api/optimizations/${created.id}/process`)).toEqual([]);
  });

  it('an answer typed right before a logout is saved', async () => {
    const page = await open(path, { api: api() });
    await page.getByLabel('Hours a week between AI tools').fill('12');
    await page.getByRole('button', { name: 'Logout' }).click();
    await page.waitForURL('**/login**');
    const [put] = sent('PUT', '/api/onboarding');
    expect(put?.body).toMatchObject({ auditData: { orchestrationHours: 12 } });
    const order = site().calls.map((call) => `${call.method} ${call.path}`);
    expect(order.indexOf('POST /api/auth/logout')).toBeGreaterThan(
      order.indexOf('PUT /api/onboarding'),
    );
  });

  it('an answer is not sent for another user who signs in in another tab', async () => {
    const page = await open(path, { api: api() });
    const { user, ...session } = sessionOf();
    const other = ok({ ...session, user: { ...user, id: 'usr_01J00000000000000000000009' } });
    site().answer(api({}, { 'GET /api/auth/session': other }));
    await page.getByLabel('Hours a week between AI tools').fill('77');
    await page.evaluate(() => new BroadcastChannel('sevenfold').postMessage('signed-in'));
    const hours = page.getByLabel('Hours a week between AI tools');
    await expect.poll(async () => hours.inputValue()).not.toBe('77');
    await page.waitForTimeout(1_000);
    expect(sent('PUT', '/api/onboarding')).toEqual([]);
  });

  it('the profile leads to the audit, which can still be changed, and to a bonus that waits', async () => {
    const done = {
      auditData: audited,
      selectedChallenge: 'premium-positioning',
      completedAt: '2026-11-24T10:00:00.000Z',
    } as const;
    const granted = onboardingOf({
      ...done,
      creditsActivated: true,
      bonus: { credits: 50, worth_usd: 25, state: 'granted' },
    });
    const page = await open('/onboarding/audit', {
      api: api(done, { 'POST /api/onboarding/activate': ok(granted) }),
    });
    await page.getByText('624 hours × $500 = $312,000').waitFor();
    expect(await faultsInEveryLook(page)).toEqual([]);
    await page.getByRole('button', { name: 'Activate bonus' }).click();
    await page.getByText(/^We added an onboarding bonus/).waitFor();
  });
});
