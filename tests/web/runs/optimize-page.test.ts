import { describe, expect, it } from 'vitest';
import type { Locator, Page } from 'playwright-core';
import { strategyName } from '#services/optimizations/reading/words/names.ts';
import { type CheckReply, optimizationLimits } from '#services/optimizations/contract/requests.ts';
import {
  balance,
  checker,
  failing,
  faultsInEveryLook,
  member,
  page as pageOf,
  runId,
  sidewaysScroll,
  strategies,
  strategyOf,
  useMemberSite,
  violations,
} from '#tests/web/support/member-site.ts';
import { ok, problem, type Reply } from '#tests/web/support/site.ts';
import { strategyIds } from '#services/models/strategy-list.ts';

const { open, site } = useMemberSite();

const userId = 'usr_01J00000000000000000000000';
const draftKey = `sevenfold.draft.${userId}.optimization`;

/** A run with every field these pages read. */
function run(change: object = {}): Reply {
  return ok({
    id: runId(1),
    title: 'Should we raise our prices?',
    description: '',
    status: 'pending',
    strategy: 'balanced',
    challenge_type: 'sales',
    progress: 0,
    agreement_score: null,
    confidence_score: null,
    votes_for: null,
    votes_total: null,
    outcome: null,
    cost: null,
    cost_is_minimum: false,
    credits: { price: 14, reserved: 0, charged: null, refunded: null, settlement: 'none' },
    simulated: false,
    simulated_seats: 0,
    created_at: '2026-11-20T10:00:00.000Z',
    createdAt: '2026-11-20T10:00:00.000Z',
    ended_at: null,
    challenge: 'Should we raise our prices?',
    context: 'Twelve clients',
    objectives: ['Keep churn low', 'Grow'],
    constraints: [],
    files: [],
    models: [],
    metadata: { models: [] },
    insights_count: 0,
    evolution: {
      id: runId(1),
      current_step: 'initializing',
      progress_percentage: 0,
      step_details: '',
      estimated_completion: null,
      start_time: null,
      models_queried: 0,
      models_completed: 0,
      can_cancel: true,
      bias: null,
    },
    result: null,
    degraded: null,
    root_id: null,
    refinement_number: null,
    refines: null,
    refinements: [],
    newer: null,
    refinable: null,
    outcomes: [],
    outcome_question: null,
    ended_because: null,
    stand_in: null,
    council: {},
    ...change,
  });
}

const startable = (answers: Parameters<typeof member>[0] = {}) =>
  member({
    'POST /api/optimizations': run(),
    [`POST /api/optimizations/${runId(1)}/process`]: run({ status: 'processing' }),
    // These tests only need to arrive at the chamber, which finds no run.
    [`GET /api/optimizations/${runId(1)}`]: problem(404, 'not-found', 'Failed to get optimization'),
    ...answers,
  });

const calls = (path: string) =>
  site().calls.filter((call) => call.method === 'POST' && call.path === path);

const challengeField = (page: Page) => page.getByLabel('What business challenge are you facing?');
const objective = (page: Page, number: number) =>
  page.getByRole('textbox', { name: `Objective ${number}`, exact: true });
/** The chip that is checked, by its label. */
const chosenType = (page: Page) =>
  page.locator('label:has([name="challenge_type"]:checked)').innerText();
const startButton = (page: Page) => page.locator('button[type="submit"]');

async function fill(page: Page): Promise<void> {
  await challengeField(page).fill('Should we raise our prices?');
  await page.getByRole('radio', { name: /Balanced/ }).check();
}

const kept = (page: Page) => page.evaluate((key) => localStorage.getItem(key), draftKey);

/** As many as the catalog has, with its longest name and line. */
const everyStrategy = strategyIds.map((id) =>
  strategyOf(id, {
    name: strategyName(id),
    description:
      'Mostly small models with two mid-sized strategists, at about a third of the price.',
  }),
);

describe('the optimization form', () => {
  it('the form passes axe and fits every window, light and dark', async () => {
    const page = await open('/optimization');
    await fill(page);
    await objective(page, 1).press('Enter');
    await page.getByText('$0.021 for the models').waitFor();
    expect(await faultsInEveryLook(page)).toEqual([]);
    await page.getByRole('button', { name: 'Compare in a table' }).click();
    expect(await violations(page)).toEqual([]);
    await expect.poll(() => sidewaysScroll(page)).toBe(0);
  });

  it.each([
    { width: 1440, height: 900, most: 1_350, row: 50 },
    // On a phone a line of a strategy wraps.
    { width: 390, height: 844, most: 3_380, row: 120 },
  ])(
    'the empty form with all eight strategies takes at most $most px at $width × $height',
    async ({ width, height, most, row }) => {
      const page = await open('/optimization', {
        width,
        api: member({
          'GET /api/optimizations/strategies': ok({ strategies: everyStrategy, checker }),
        }),
        prepare: async (made) => made.setViewportSize({ width, height }),
      });
      await page.getByRole('radio', { name: /Comprehensive/ }).waitFor();
      const figures = await page.evaluate(() => {
        const edge = (selector: string, side: 'top' | 'bottom') =>
          document.querySelector(selector)?.getBoundingClientRect()[side] ?? Number.NaN;
        // Beside the fields the button stands higher than their end.
        const end = Math.max(
          edge('main button[type="submit"]', 'bottom'),
          edge('main [data-part="strategies"]', 'bottom'),
        );
        const list = document.querySelectorAll('[data-part="strategies"] li');
        return {
          height: end - edge('main h1', 'top'),
          row: Math.max(...[...list].map((one) => one.getBoundingClientRect().height)),
        };
      });
      expect(figures.height).toBeLessThanOrEqual(most);
      expect(figures.row).toBeLessThanOrEqual(row);
    },
  );

  it('the form names what is missing, suggests a type, and says why a strategy is unavailable', async () => {
    const page = await open('/optimization');
    await page.getByRole('radio', { name: /Balanced/ }).waitFor();
    await expect.poll(() => chosenType(page)).toBe('Business strategy');
    const preselected = page.locator('[name="strategy"]:checked');
    await expect.poll(() => preselected.count()).toBe(0);
    await expect.poll(() => startButton(page).isDisabled()).toBe(true);
    await expect
      .poll(() => page.locator('#start-note').innerText())
      .toBe('Describe your challenge.\nChoose a strategy.');
    await fill(page);
    await expect.poll(() => startButton(page).innerText()).toBe('Start Optimization');
    await expect.poll(() => startButton(page).isEnabled()).toBe(true);

    await challengeField(page).fill('Which channel should our campaign use?');
    await expect.poll(() => chosenType(page)).toBe('Marketing');
    await page.getByRole('radio', { name: 'Hiring' }).check();
    await challengeField(page).fill('Which channel should our next campaign use?');
    await expect.poll(() => chosenType(page)).toBe('Hiring');

    await expect.poll(() => page.getByRole('radio', { name: /Ultra/ }).isDisabled()).toBe(true);
    await page.getByText('Not available. No model is available.').waitFor();
    await page.getByLabel('Allow simulated models').check();
    await expect.poll(() => page.getByRole('radio', { name: /Ultra/ }).isEnabled()).toBe(true);
  });

  it('the strategies can be retried without losing the text', async () => {
    let isDown = true;
    const page = await open('/optimization', {
      api: member({
        'GET /api/optimizations/strategies': () => (isDown ? failing : ok({ strategies, checker })),
      }),
    });
    await challengeField(page).fill('Should we raise our prices?');
    await page.getByText('Failed to get strategies').first().waitFor();
    isDown = false;
    await page.getByRole('button', { name: 'Try Again' }).click();
    await page.getByRole('radio', { name: /Balanced/ }).waitFor();
    await expect.poll(() => challengeField(page).inputValue()).toBe('Should we raise our prices?');
  });
});

describe('the rows', () => {
  it('rows are added with Enter, pasted from lines, moved and restored, and show all of their text', async () => {
    const page = await open('/optimization');
    const remove = page.getByRole('button', { name: 'Remove Objective 1' });
    await expect.poll(() => remove.isDisabled()).toBe(true);
    await objective(page, 1).fill('first');
    await objective(page, 1).press('Enter');
    await expect
      .poll(() => objective(page, 2).evaluate((field) => field === document.activeElement))
      .toBe(true);
    await objective(page, 2).evaluate((field) => {
      const data = new DataTransfer();
      data.setData('text/plain', '- second\n- third');
      field.dispatchEvent(
        new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }),
      );
    });
    const texts = () =>
      page
        .getByRole('group', { name: 'Objectives' })
        .getByRole('textbox')
        .evaluateAll((fields) => fields.map((field) => (field as HTMLTextAreaElement).value));
    await expect.poll(() => texts()).toEqual(['first', 'second', 'third']);
    await page.getByRole('button', { name: 'Move Objective 3 up' }).click();
    await expect.poll(() => texts()).toEqual(['first', 'third', 'second']);
    await expect
      .poll(() => page.evaluate(() => document.activeElement?.getAttribute('aria-label')))
      .toBe('Move Objective 2 up');
    await remove.click();
    await expect.poll(() => texts()).toEqual(['third', 'second']);
    await page.getByRole('button', { name: 'Undo' }).click();
    await expect.poll(() => texts()).toEqual(['first', 'third', 'second']);

    const oneLine = await objective(page, 2).evaluate((field) => field.clientHeight);
    await objective(page, 2).fill(
      'Name the one move that would hurt us, and its first sign. '.repeat(4),
    );
    const { height, text } = await objective(page, 2).evaluate((field) => ({
      height: field.clientHeight,
      text: field.scrollHeight,
    }));
    expect(height).toBeGreaterThan(oneLine);
    expect(text).toBe(height);
  });
});

describe('the estimate', () => {
  it('the estimate is requested once, half a second after the last key', async () => {
    const page = await open('/optimization', { prepare: async (made) => made.clock.install() });
    await page.getByRole('radio', { name: /Balanced/ }).check();
    // The page's clock stands still while the text is typed.
    await page.clock.pauseAt(new Date(Date.now() + 3_600_000));
    await challengeField(page).pressSequentially('Should we raise our prices?');
    await page.clock.runFor(499);
    expect(calls('/api/optimizations/estimate')).toEqual([]);
    await page.clock.resume();
    await page.getByText('$0.021 for the models, about 30s (usually under 45s)').waitFor();
    expect(calls('/api/optimizations/estimate').map(({ body }) => body)).toEqual([
      {
        strategy: 'balanced',
        workflowType: 'business-optimization',
        challengeText: 'Should we raise our prices?',
        contextText: '',
        allow_simulated: false,
      },
    ]);
  });

  it('the price is shown when the estimate is unavailable', async () => {
    const page = await open('/optimization', {
      api: member({ 'POST /api/optimizations/estimate': failing }),
    });
    await fill(page);
    await page.getByText('No estimate right now. The price is 14 credits.').waitFor();
    await expect.poll(() => startButton(page).isEnabled()).toBe(true);
  });
});

describe('a start', () => {
  it('a double click creates and processes one run, and empties the draft', async () => {
    const page = await open('/optimization', { api: startable() });
    await fill(page);
    await expect.poll(() => kept(page)).toContain('Should we raise our prices?');
    await page.getByText(/for the models/).waitFor();
    await startButton(page).dblclick();
    await page.waitForURL(`**/evolution-chamber?id=${runId(1)}`);
    expect(calls('/api/optimizations').map(({ body }) => body)).toEqual([
      {
        challenge: 'Should we raise our prices?',
        context: '',
        objectives: [],
        constraints: [],
        files: [],
        strategy: 'balanced',
        challenge_type: 'business_strategy',
        catalogue_version: '2026-11-20.0123abcd',
      },
    ]);
    expect(calls(`/api/optimizations/${runId(1)}/process`)).toHaveLength(1);
    await expect.poll(() => kept(page)).toBeNull();
  });

  it('the summary keeps the balance from before a start that has reserved its price', async () => {
    let available = balance.available_credits;
    const page = await open('/optimization', {
      api: startable({
        'GET /api/credits/balance': () => ok({ ...balance, available_credits: available }),
        [`POST /api/optimizations/${runId(1)}/process`]: () => {
          available -= 14;
          return { status: 200, body: new ReadableStream() };
        },
      }),
      prepare: async (made) => made.clock.install(),
    });
    await fill(page);
    const after = page.locator('dl > div', { hasText: 'Balance after' });
    await expect.poll(() => after.innerText()).toMatch(/72\s+of 86/);
    await startButton(page).click();
    await expect.poll(() => calls(`/api/optimizations/${runId(1)}/process`).length).toBe(1);
    // The balance is now old enough to be read again.
    await page.clock.setSystemTime(Date.now() + 120_000);
    await expect
      .poll(async () => {
        await page.evaluate(() =>
          document.dispatchEvent(new Event('visibilitychange', { bubbles: true })),
        );
        return page.locator('header').first().innerText();
      })
      .toContain('72 credits');
    expect(await after.innerText()).toMatch(/72\s+of 86/);
  });

  it('a start keeps its keys for retries and over a reload', async () => {
    let isDown = true;
    const page = await open('/optimization', {
      api: startable({ 'POST /api/optimizations': () => (isDown ? failing : run()) }),
      prepare: async (made) => made.clock.install(),
    });
    await fill(page);
    await startButton(page).click();
    const failed = page.getByText('Failed to start optimization. Please try again.');
    await expect
      .poll(async () => {
        await page.clock.runFor(1_000);
        return failed.count();
      })
      .toBeGreaterThan(0);
    expect(calls('/api/optimizations').length).toBeGreaterThan(2);
    await page.reload();
    isDown = false;
    await startButton(page).click();
    await page.waitForURL('**/evolution-chamber?id=*');
    const keys = calls('/api/optimizations').map(({ headers }) => headers.get('idempotency-key'));
    expect(new Set(keys).size).toBe(1);
  });

  it('a start by keyboard asks for confirmation of the price', async () => {
    const page = await open('/optimization', { api: startable() });
    await fill(page);
    await expect.poll(() => startButton(page).isEnabled()).toBe(true);
    await challengeField(page).press('Control+Enter');
    await page.getByRole('heading', { name: 'Start for 14 credits?' }).waitFor();
    expect(calls('/api/optimizations')).toHaveLength(0);
    await page.keyboard.press('Enter');
    await page.waitForURL('**/evolution-chamber?id=*');
    expect(calls('/api/optimizations')).toHaveLength(1);
  });

  it('a shortage is named with two ways to fix it, and nothing starts', async () => {
    const page = await open('/optimization', {
      api: startable({
        'GET /api/credits/balance': ok({
          available_credits: 10,
          reserved_credits: 0,
          debt_credits: 0,
          spending_frozen: false,
          total_purchased: 10,
          total_consumed: 0,
          total_credits: 10,
          used_credits: 0,
        }),
      }),
    });
    await fill(page);
    await page
      .getByText(
        "You need 14 credits to run this optimization, but you only have 10 credits available. You're short by 4 credits.",
      )
      .waitFor();
    await expect.poll(() => startButton(page).innerText()).toBe('Insufficient Credits');
    await expect.poll(() => startButton(page).isDisabled()).toBe(true);
    const summary = page.getByRole('region', { name: 'Summary' });
    await expect
      .poll(() => summary.getByRole('link').allInnerTexts())
      .toEqual(['Read the full rule', 'Buy More Credits', 'View Credit Balance']);
    expect(await violations(page)).toEqual([]);
  });

  it('a debt that the server finds is reported', async () => {
    const figures = { required_credits: 14, current_balance: 86, shortfall: 0 };
    const page = await open('/optimization', {
      api: startable({
        'POST /api/credits/check-usage': ok({
          has_sufficient_credits: false,
          ...figures,
          refusal: { status: 402, code: 'debt', message: 'Your account owes 6 credits' },
        }),
      }),
    });
    await fill(page);
    await startButton(page).click();
    await page
      .getByText("You owe credits, so you can't start an optimization yet.")
      .first()
      .waitFor();
    await expect.poll(() => page.getByText('Please purchase more credits').count()).toBe(0);
  });

  it('the refusal of the monthly limit is shown in its own words', async () => {
    const sentence = 'Bonus credits can pay for 5 optimizations a month, and this month they have.';
    const page = await open('/optimization', {
      api: startable({
        [`POST /api/optimizations/${runId(1)}/process`]: problem(403, 'monthly-limit', sentence),
      }),
    });
    await fill(page);
    await startButton(page).click();
    await page.getByText(sentence).waitFor();
    await page.getByText('Nothing was charged.').waitFor();
    await page.getByRole('link', { name: 'See your waiting run' }).waitFor();
  });
});

describe('the question check', () => {
  const check = '/api/optimizations/check';
  const found = (reply: Partial<CheckReply>) => {
    const data = { verdict: 'ready', questions: [], why: null, skipped: false, ...reply };
    return startable({ [`POST ${check}`]: ok(data) });
  };
  const questions = ['What do you charge?', 'How many clients left last year, and why?'];
  const asking = found({ verdict: 'ask', questions });
  const isFocused = async (target: Locator) =>
    target.evaluate((element) => element === document.activeElement);
  const started = () => calls('/api/optimizations').length;

  it('questions appear with the focus, their answers join the context, and the next start is not checked', async () => {
    const page = await open('/optimization', { api: asking });
    await fill(page);
    await page
      .getByText('Your question is first sent to OpenAI to be checked, at no charge.')
      .waitFor();
    await page.getByLabel('Context', { exact: true }).fill('A design studio.');
    await startButton(page).click();
    const notice = page.getByText('Note: 2 facts would help the models');
    await notice.waitFor();
    await expect
      .poll(() => page.evaluate(() => document.activeElement?.textContent))
      .toContain('2 facts would help the models');
    await expect
      .poll(() => page.locator('output[aria-live]').first().innerText())
      .toBe('2 facts would help the models. Answer what you can, or start anyway.');
    expect(started()).toBe(0);
    expect(await faultsInEveryLook(page)).toEqual([]);
    const add = page.getByRole('button', { name: 'Add answers' });
    expect(await add.isDisabled()).toBe(true);
    await page.getByLabel(questions[1] ?? '').fill('3 left: too expensive');
    await page.keyboard.press('Control+Enter');
    await expect
      .poll(() => page.locator('output[aria-live]').first().innerText())
      .toBe('Add your answers, or start anyway.');
    await add.click();
    const context =
      'A design studio.\n\nQ: How many clients left last year, and why?\nA: 3 left: too expensive';
    await expect.poll(() => page.getByLabel('Context', { exact: true }).inputValue()).toBe(context);
    await expect.poll(() => isFocused(startButton(page))).toBe(true);
    await page.keyboard.press('Enter');
    await page.waitForURL('**/evolution-chamber?id=*');
    expect(calls('/api/optimizations')[0]?.body).toMatchObject({ context });
    expect(calls(check).map(({ body }) => body)).toEqual([
      {
        challenge: 'Should we raise our prices?',
        context: 'A design studio.',
        objectives: [],
        constraints: [],
        files: [],
        challenge_type: 'business_strategy',
      },
    ]);
  });

  it('answers that are too long for the context say so at their field, and a start needs none', async () => {
    const page = await open('/optimization', { api: asking });
    await fill(page);
    await page
      .getByLabel('Context', { exact: true })
      .fill('a'.repeat(optimizationLimits.context - 30));
    await startButton(page).click();
    const answer = page.getByLabel(questions[0] ?? '');
    await answer.fill('$90 an hour');
    await page.getByText('With your answers the context is 9 characters too long.').waitFor();
    expect(await answer.getAttribute('aria-invalid')).toBe('true');
    expect(await page.getByRole('button', { name: 'Add answers' }).isDisabled()).toBe(true);
    await page.getByRole('button', { name: 'Start anyway' }).click();
    await page.waitForURL('**/evolution-chamber?id=*');
    expect(calls(check)).toHaveLength(1);
  });

  it('a question without an answer says why as plain text, can be edited and checked again, or started', async () => {
    const why = 'No <b>options</b> are named.';
    const page = await open('/optimization', { api: found({ verdict: 'undecidable', why }) });
    await fill(page);
    await startButton(page).click();
    await page.getByText(why, { exact: true }).waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Edit question' }).click();
    await expect.poll(() => isFocused(challengeField(page))).toBe(true);
    await challengeField(page).fill('Should we raise them?');
    // From the keyboard the check comes before the dialog.
    await challengeField(page).press('Control+Enter');
    await page.getByText(why, { exact: true }).waitFor();
    expect([calls(check).length, started()]).toEqual([2, 0]);
    expect(await page.getByRole('dialog').count()).toBe(0);
    await page.getByRole('button', { name: 'Start anyway' }).press('Enter');
    await page.waitForURL('**/evolution-chamber?id=*');
  });

  it('Escape, an edit or an emptied form stops a check, and nothing starts until the next press', async () => {
    let isSlow = true;
    const never = (): Reply => ({ status: 200, body: new ReadableStream() });
    const page = await open('/optimization', {
      api: startable({ [`POST ${check}`]: () => (isSlow ? never() : failing) }),
    });
    await fill(page);
    const checking = page.getByRole('button', { name: 'Checking…' });
    await startButton(page).click();
    await checking.waitFor();
    await startButton(page).click({ force: true });
    await page.keyboard.press('Escape');
    await expect.poll(() => startButton(page).innerText()).toBe('Start Optimization');
    await expect.poll(() => isFocused(startButton(page))).toBe(true);
    await page.keyboard.press('Enter');
    await checking.waitFor();
    await page.getByLabel('Context', { exact: true }).fill('A studio.');
    await expect.poll(() => startButton(page).innerText()).toBe('Start Optimization');
    await startButton(page).click();
    await checking.waitFor();
    await page.getByRole('button', { name: 'Clear form' }).click();
    await expect.poll(() => startButton(page).isDisabled()).toBe(true);
    await page.getByRole('button', { name: 'Undo' }).click();
    expect([calls(check).length, started()]).toEqual([3, 0]);
    // A check that fails is skipped.
    isSlow = false;
    await startButton(page).click();
    await page.waitForURL('**/evolution-chamber?id=*');
    expect(calls(check)).toHaveLength(4);
  });
});

describe('the draft', () => {
  it('a draft survives a reload and is gone after signing out', async () => {
    const page = await open('/optimization', { api: startable() });
    await fill(page);
    await objective(page, 1).fill('Keep churn low');
    await page.getByText('Draft saved on this device.').waitFor();
    await page.reload();
    await expect.poll(() => challengeField(page).inputValue()).toBe('Should we raise our prices?');
    await expect.poll(() => objective(page, 1).inputValue()).toBe('Keep churn low');
    await expect.poll(() => page.getByRole('radio', { name: /Balanced/ }).isChecked()).toBe(true);
    await challengeField(page).fill('Should we raise our prices now?');
    await page.getByRole('button', { name: 'Logout' }).click();
    await page.waitForURL('**/login**');
    // Longer than the delay before a draft is saved: nothing may come back.
    await page.waitForTimeout(1_300);
    await expect.poll(() => kept(page)).toBeNull();
  });

  it('the form starts with a challenge from the address, and can be emptied and restored', async () => {
    const page = await open('/optimization?challenge=Should+we+sell+online%3F');
    await expect.poll(() => challengeField(page).inputValue()).toBe('Should we sell online?');
    await page.getByRole('button', { name: 'Clear form' }).click();
    await expect.poll(() => challengeField(page).inputValue()).toBe('');
    await page.getByRole('button', { name: 'Undo' }).click();
    await expect.poll(() => challengeField(page).inputValue()).toBe('Should we sell online?');
  });

  it('a draft gives way to a repeated run, and can be restored', async () => {
    const again = {
      [`GET /api/optimizations/${runId(1)}`]: run({ status: 'failed' }),
    };
    const page = await open('/optimization', { api: startable(again) });
    await challengeField(page).fill('Something of my own');
    await page.getByText('Draft saved on this device.').waitFor();
    await page.goto(`${site().origin}/optimization?from=${runId(1)}`);
    await page.getByText('Your earlier draft is saved on this device').waitFor();
    await expect.poll(() => challengeField(page).inputValue()).toBe('Should we raise our prices?');
    await expect.poll(() => objective(page, 2).inputValue()).toBe('Grow');
    await expect.poll(() => chosenType(page)).toBe('Sales');
    await expect.poll(() => page.getByRole('radio', { name: /Balanced/ }).isChecked()).toBe(true);
    await expect.poll(() => kept(page)).toContain('Something of my own');
    await page.getByRole('button', { name: 'Use my draft' }).click();
    await expect.poll(() => challengeField(page).inputValue()).toBe('Something of my own');
  });

  it('the form says when the run to repeat does not exist', async () => {
    const page = await open(`/optimization?from=${runId(9)}`, {
      api: member({ 'GET /api/optimizations': pageOf([]) }),
    });
    await page.getByText("We couldn't load the run you're copying").first().waitFor();
    await page.getByRole('link', { name: 'Start with an empty form' }).click();
    await challengeField(page).waitFor();
  });
});
