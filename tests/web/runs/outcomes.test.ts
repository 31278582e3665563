import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import type { DueOutcome, Outcome } from '#services/optimizations/contract/outcomes.ts';
import { describeRun } from '#services/optimizations/reading/describe.ts';
import type { RunView } from '#services/optimizations/reading/view.ts';
import { runId as resultId } from '#tests/optimizations/run/run-script.ts';
import {
  failing,
  faultsInEveryLook,
  member,
  page as pageOf,
  runId,
  runOf,
  useMemberSite,
} from '#tests/web/support/member-site.ts';
import { rootStory } from '#tests/web/support/refinement-stories.ts';
import { runServer } from '#tests/web/support/run-server.ts';
import { type Api, ok, problem, type Reply } from '#tests/web/support/site.ts';

const { open, site } = useMemberSite();

const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString();
const dueOf = (number: number, change: Partial<DueOutcome> = {}): DueOutcome => ({
  id: runId(number),
  result_id: runId(number),
  asked: 30,
  since: daysAgo(1),
  title: `Question ${number}`,
  decision: 'Keep the one-time price and sell an update.',
  agreement_score: 82,
  agreement_band: 'strong',
  simulated: false,
  ...change,
});

/** A server that asks about these results until each is answered or put off. */
function asking(due: readonly DueOutcome[], reply: () => Reply | null = () => null): Api {
  let unanswered = [...due];
  const closeOne = ({ path }: { path: string }): Reply => {
    const refused = reply();
    if (refused !== null) return refused;
    unanswered = unanswered.filter(({ id }) => !path.includes(id));
    return path.endsWith('dismiss')
      ? ok({ id: due[0]!.id, asked: 30, dismissed: true })
      : ok({ outcomes: [], outcome_question: null });
  };
  const calls = due.flatMap(({ id, asked }) => [
    [`PUT /api/optimizations/${id}/outcomes/${asked}`, closeOne] as const,
    [`POST /api/optimizations/${id}/outcomes/${asked}/dismiss`, closeOne] as const,
  ]);
  return member({
    'GET /api/optimizations': pageOf([runOf(1), runOf(2)]),
    'GET /api/optimizations/outcomes/due': () =>
      ok({ due: unanswered.slice(0, 5), total: unanswered.length }),
    ...Object.fromEntries(calls),
  });
}

const card = (page: Page) => page.getByRole('region', { name: 'How did it turn out?' });
const did = (page: Page) => page.getByRole('textbox', { name: 'What did you do?' });
const bodies = () => site().calls.flatMap(({ method, body }) => (method === 'PUT' ? [body] : []));
const focused = async (page: Page) =>
  page.evaluate(() => document.activeElement?.textContent ?? '');

describe('the question on the dashboard', () => {
  it('the card passes axe in every look, with its form and its errors', async () => {
    const page = await open('/dashboard', { api: asking([dueOf(1), dueOf(2)]) });
    await card(page)
      .getByText('Asked 30 days after the result · agreement 82 of 100, strong')
      .first()
      .waitFor();
    expect(await faultsInEveryLook(page)).toEqual([]);
    await page.setViewportSize({ width: 1440, height: 900 });
    await card(page).getByRole('button', { name: 'Say what happened: Question 1' }).press('Enter');
    await page.getByRole('button', { name: 'Save answer' }).press('Enter');
    await card(page).getByText('Choose what happened').waitFor();
    expect(await faultsInEveryLook(page)).toEqual([]);
  });

  it('without an open question there is no card', async () => {
    const page = await open('/dashboard');
    await page.getByRole('region', { name: 'Recent optimizations' }).waitFor();
    expect(await card(page).count()).toBe(0);
  });

  it('by keyboard, an answer needs both fields, and a saved one gives way to the next question', async () => {
    const page = await open('/dashboard', { api: asking([dueOf(1), dueOf(2)]) });
    const button = card(page).getByRole('button', { name: 'Say what happened: Question 1' });
    await button.press('Enter');
    await expect
      .poll(async () => did(page).evaluate((one) => one === document.activeElement))
      .toBe(true);
    await page.getByRole('button', { name: 'Save answer' }).press('Enter');
    const missingWords = card(page).getByText(
      'Write what you did, or choose that it is too early to say',
    );
    await card(page).getByText('Choose what happened').waitFor();
    await missingWords.waitFor();
    await expect
      .poll(async () => did(page).evaluate((one) => one === document.activeElement))
      .toBe(true);
    await did(page).fill('  Kept the price.  ');
    await expect.poll(() => missingWords.count()).toBe(0);
    await page.getByRole('button', { name: 'Save answer' }).press('Enter');
    await expect
      .poll(() => page.evaluate(() => document.activeElement?.getAttribute('role')))
      .toBe('radiogroup');
    expect(await missingWords.count()).toBe(0);
    await page.keyboard.press('Tab');
    await page.keyboard.press('ArrowDown');
    await page.getByRole('radio', { name: 'As expected' }).and(page.locator(':checked')).waitFor();
    await did(page).fill(' ');
    await page.getByRole('button', { name: 'Save answer' }).press('Enter');
    await missingWords.waitFor();
    expect(bodies()).toEqual([]);
    await did(page).fill('  Kept the price.  ');
    await page.getByRole('button', { name: 'Save answer' }).press('Enter');
    await expect.poll(() => card(page).getByText('Question 1').count()).toBe(0);
    expect(bodies()).toEqual([{ did: 'Kept the price.', happened: 'as_expected' }]);
    expect(await focused(page)).toBe('How did it turn out?');
    await card(page).getByText('Question 2').waitFor();
  });

  it('too early needs no words, and the last answer leaves a sentence', async () => {
    const page = await open('/dashboard', { api: asking([dueOf(1, { asked: 90 })]) });
    await card(page)
      .getByRole('button', { name: /^Say what happened/ })
      .click();
    await card(page)
      .getByText('The question about the first 90 days. It is the last one.')
      .waitFor();
    await page.getByRole('button', { name: 'Save answer' }).click();
    const missingWords = card(page).getByText('Write what you did, or choose');
    await missingWords.waitFor();
    await page.getByRole('radio', { name: 'Too early to say' }).check();
    await expect.poll(() => missingWords.count()).toBe(0);
    await page.getByRole('button', { name: 'Save answer' }).click();
    await card(page).getByText('Thank you. There is nothing else to answer.').waitFor();
    expect(bodies()).toEqual([{ did: '', happened: 'too_early' }]);
  });

  it('an answer that could not be saved stays in the form, and closing it brings the focus back', async () => {
    const page = await open('/dashboard', { api: asking([dueOf(1)], () => failing) });
    const button = card(page).getByRole('button', { name: /^Say what happened/ });
    await button.click();
    await did(page).fill('Raised the price.');
    await page.getByRole('radio', { name: 'Better than expected' }).check();
    await page.getByRole('button', { name: 'Save answer' }).click();
    await card(page).getByText("We couldn't save your answer").waitFor();
    expect(await did(page).inputValue()).toBe('Raised the price.');
    await page.getByRole('button', { name: 'Close' }).click();
    await expect
      .poll(async () => button.evaluate((one) => one === document.activeElement))
      .toBe(true);
  });

  it('"Not now" takes the question away, or says why it could not', async () => {
    let refusal: Reply | null = failing;
    const page = await open('/dashboard', { api: asking([dueOf(1), dueOf(2)], () => refusal) });
    const later = card(page).getByRole('button', { name: 'Not now: Question 1' });
    await later.click();
    await card(page)
      .getByText(/We couldn't put it off/)
      .waitFor();
    refusal = null;
    await later.click();
    await expect.poll(() => card(page).getByText('Question 1').count()).toBe(0);
    await card(page).getByText('Question 2').waitFor();
  });

  it('questions that are not listed are counted', async () => {
    const due = [1, 2, 3, 4, 5, 6, 7].map((number) => dueOf(number));
    const page = await open('/dashboard', { api: asking(due) });
    await card(page).getByText('2 more will appear here once these are answered.').waitFor();
  });
});

type Change = Pick<RunView, 'outcomes' | 'resultAt'>;

/** The server of an ended run, whose owner may have said what came of it. */
function resultServer(change: Change, more: Record<string, () => Reply> = {}): Api {
  const server = runServer(rootStory, rootStory.facts.length);
  const now = { ...change };
  return (call) => {
    const answer = more[`${call.method} ${call.path}`];
    if (answer) return answer();
    if (call.path === `/api/optimizations/${resultId}/outcomes/30`) {
      const { did: text, happened } = call.body as Outcome;
      now.outcomes = { 30: { did: text, happened, at: daysAgo(0), result: resultId } };
      return ok({ outcomes: [], outcome_question: null });
    }
    return call.path === `/api/optimizations/${resultId}`
      ? ok(describeRun({ ...rootStory.view(), ...now }, Date.now()))
      : server.api(call);
  };
}

const part = (page: Page, name: string) => page.getByRole('region', { name, exact: true });

describe('the outcome on the page of a result', () => {
  it('the page asks from day 30 on, shows the answer, and lets it be changed', async () => {
    const page = await open(`/optimizations/${resultId}#outcome`, {
      api: resultServer({ outcomes: {}, resultAt: daysAgo(31) }),
    });
    const question = part(page, 'How did it turn out?');
    await question.getByText('The question about the first 30 days.', { exact: false }).waitFor();
    // The address leads to the question, below the result.
    await expect.poll(() => page.evaluate(() => scrollY)).toBeGreaterThan(0);
    expect(await faultsInEveryLook(page)).toEqual([]);
    await page.setViewportSize({ width: 1440, height: 900 });
    await did(page).fill('Raised the price.');
    await page.getByRole('radio', { name: 'Better than expected' }).check();
    await page.getByRole('button', { name: 'Save answer' }).click();
    const said = part(page, 'How it turned out');
    await said.getByText('After 30 days: Better than expected').waitFor();
    await said.getByText('Raised the price.').waitFor();
    await said.getByRole('button', { name: 'Change answer: 30 days' }).click();
    expect(await did(page).inputValue()).toBe('Raised the price.');
    await page.getByRole('radio', { name: 'Worse than expected' }).check();
    await page.getByRole('button', { name: 'Save answer' }).click();
    await said.getByText('After 30 days: Worse than expected').waitFor();
    expect(bodies()).toEqual([
      { did: 'Raised the price.', happened: 'better' },
      { did: 'Raised the price.', happened: 'worse' },
    ]);
  });

  it('before day 30 the page does not ask', async () => {
    const page = await open(`/optimizations/${resultId}`, {
      api: resultServer({ outcomes: {}, resultAt: daysAgo(29) }),
    });
    await part(page, 'Next steps').waitFor();
    expect(await page.getByText(/How (did it turn|it turned) out/).count()).toBe(0);
  });

  it('what was said about another result of the run links to it', async () => {
    const outcome = { did: 'Hired two.', happened: 'worse', at: daysAgo(3), result: runId(9) };
    const page = await open(`/optimizations/${resultId}`, {
      api: resultServer({ outcomes: { 30: { ...outcome, happened: 'worse' } }, resultAt: null }),
    });
    const link = part(page, 'How it turned out').getByRole('link', { name: 'Read it' });
    expect(await link.getAttribute('href')).toBe(`/optimizations/${runId(9)}`);
  });

  it('how results of each band turned out is fetched when it is opened, and has no share below 30', async () => {
    const bands = [
      { band: 'strong', outcomes: 30, share: 0.9, interval: { low: 0.7438, high: 0.9654 } },
      { band: 'majority', outcomes: 20, share: null, interval: null },
    ];
    const figures = () => ok({ as_of: daysAgo(1), least: 30, bands });
    const page = await open(`/optimizations/${resultId}`, {
      api: resultServer(
        { outcomes: {}, resultAt: null },
        { 'GET /api/optimizations/outcomes': figures },
      ),
    });
    const asked = () => site().calls.filter(({ path }) => path.endsWith('/outcomes'));
    await page.getByText('How this is computed').first().waitFor();
    expect(asked()).toEqual([]);
    await page.getByText('How this is computed').first().click();
    await page
      .getByText('90% better or as expected (95% interval 74% to 97%, 30 outcomes)')
      .waitFor();
    await page.getByText('20 of the 30 outcomes needed').waitFor();
    await page.getByText(/No score or recommendation is changed by it/).waitFor();
    expect(asked()).toHaveLength(1);
    expect(await faultsInEveryLook(page)).toEqual([]);
  });

  it('figures that cannot be loaded leave the page alone', async () => {
    const page = await open(`/optimizations/${resultId}`, {
      api: resultServer(
        { outcomes: {}, resultAt: null },
        { 'GET /api/optimizations/outcomes': () => problem(400, 'validation', 'No.') },
      ),
    });
    await page.getByText('How this is computed').first().click();
    await page.locator('main').getByText("We couldn't load the outcomes").waitFor();
    await part(page, 'Next steps').waitFor();
  });
});

describe('the email that asks', () => {
  it('the email is off until it is switched on in the account settings', async () => {
    const page = await open('/profile', {
      api: member({ 'PATCH /api/users/me': failing }),
    });
    const box = page.getByRole('checkbox', { name: 'Ask me by email how a result turned out' });
    expect(await box.isChecked()).toBe(false);
    await box.click();
    await page.locator('main').getByText("We couldn't save your choice").waitFor();
    const sent = site().calls.filter(({ method }) => method === 'PATCH');
    expect(sent.map(({ body }) => body)).toEqual([{ preferences: { outcome_emails: true } }]);
  });
});
