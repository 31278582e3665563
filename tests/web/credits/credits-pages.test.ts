import { readFile } from 'node:fs/promises';
import type { Download, Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import type { Balance } from '#services/credits/contract.ts';
import type { Fact } from '#services/live/contract.ts';
import {
  ledger,
  month,
  purchaseOf,
  purchases,
  refundOf,
  statement,
} from '#tests/web/support/credit-story.ts';
import {
  analytics,
  balance,
  failing,
  lineOf,
  faultsInEveryLook,
  member,
  runId,
  sidewaysScroll,
  useMemberSite,
  violations,
} from '#tests/web/support/member-site.ts';
import { ok, problem, type Reply } from '#tests/web/support/site.ts';

const { open, site } = useMemberSite();

const rich = {
  'GET /api/credits/balance': ok({ ...balance, reserved_credits: 14, debt_credits: 3 }),
  'GET /api/credits/history': ok(ledger),
  'GET /api/credits/purchases': ok(purchases),
  'GET /api/credits/statements': ok([month, '2026-10', '2026-08']),
  [`GET /api/credits/statements/${month}`]: ok(statement),
};

const empty = member({
  'GET /api/credits/balance': ok({
    available_credits: 0,
    reserved_credits: 0,
    debt_credits: 0,
    spending_frozen: false,
    total_purchased: 0,
    total_consumed: 0,
    total_credits: 0,
    used_credits: 0,
  }),
  'GET /api/credits/analytics': ok({
    ...analytics,
    monthly_consumption: 0,
    consumption_by_month: analytics.consumption_by_month.map(({ month: each }) => ({
      month: each,
      credits: 0,
    })),
    average_cost_per_optimization: null,
    completed_optimizations: 0,
    consumption_by_day: analytics.consumption_by_day.map(({ day }) => ({ day, credits: 0 })),
    total_consumed: 0,
    most_used_models: [],
    models: [],
  }),
  'GET /api/credits/history': ok([]),
});

const historyOf = (page: Page) => page.getByRole('region', { name: 'Transaction History' });
const purchasesOf = (page: Page) => page.getByRole('region', { name: 'Purchases' });
const callsTo = (path: string) => site().calls.filter((call) => call.path === path);

/** A stream that starts with the balance and publishes each later one. */
function accountStream() {
  const encoder = new TextEncoder();
  const listeners = new Set<ReadableStreamDefaultController<Uint8Array>>();
  const send = (event: string, data: unknown): Uint8Array =>
    encoder.encode(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  const listen = (): Reply => {
    let listener: ReadableStreamDefaultController<Uint8Array> | undefined;
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        listener = controller;
        listeners.add(controller);
        controller.enqueue(send('snapshot', { balance, runs: [] }));
      },
      cancel: () => {
        if (listener) listeners.delete(listener);
      },
    });
    return { status: 200, body, headers: { 'content-type': 'text/event-stream' } };
  };
  return {
    api: { 'GET /api/stream': listen },
    listening: () => listeners.size,
    publish: (after: Balance) => {
      const fact: Fact = {
        type: 'CreditsCaptured',
        at: '2026-11-20T12:00:00.000Z',
        stream: 'credits-usr_1',
        version: 9,
        entity: { kind: 'account', id: 'usr_1' },
        patch: after,
      };
      for (const listener of listeners) listener.enqueue(send('fact', fact));
    },
    publishStale: (name: string) => {
      for (const listener of listeners) listener.enqueue(send('stale', { name }));
    },
  };
}

async function textOf(download: Download): Promise<string> {
  return (await readFile(await download.path())).toString('utf8');
}

describe('the credits page', () => {
  it('the credits page passes axe and fits every window, light and dark', async () => {
    const page = await open('/credits', { api: member(rich) });
    await historyOf(page).getByText('Onboarding bonus').waitFor();
    await purchasesOf(page).getByText('Your bank is still confirming').waitFor();
    await page.getByRole('button', { name: 'Show as table' }).click();
    expect(await faultsInEveryLook(page)).toEqual([]);
    await page.getByRole('button', { name: 'Refund unused credits of Side-Gig Builder' }).click();
    await page.getByRole('dialog').getByText('Your plan will end now').waitFor();
    expect(await violations(page)).toEqual([]);
  });

  it('the page lists what each model cost with its share, and links to the answers about credits', async () => {
    const page = await open('/credits');
    const models = page.getByRole('region', { name: 'Most Used AI Models' });
    await expect.poll(() => models.innerText()).toContain('GPT-6.1 Terra\n8.3 · 59%');
    const answers = page.getByRole('region', { name: 'How credits work' }).getByRole('link');
    await expect
      .poll(() => answers.evaluateAll((links) => links.map((link) => link.getAttribute('href'))))
      .toEqual(
        ['credit', 'expiry', 'failed-runs', 'refunds', 'receipts', 'taxes'].map(
          (topic) => `/credits/purchase#faq-${topic}`,
        ),
      );
    await answers.filter({ hasText: 'Do credits expire?' }).click();
    await page.getByText('No. Credits never expire').waitFor();
  });

  it('the chart shows months or days, and the models lead to a page of what each costs', async () => {
    const page = await open('/credits');
    const chart = page.getByRole('region', { name: 'Usage Statistics' });
    await chart.getByRole('img', { name: /to November 2026\. 14 this month/ }).waitFor();
    await chart.getByRole('radio', { name: '30 days' }).check();
    await chart.getByRole('img', { name: /October 22, 2026 to November 20, 2026\./ }).waitFor();
    await chart.getByRole('radio', { name: '90 days' }).check();
    await chart.getByRole('button', { name: 'Show as table' }).click();
    await expect.poll(() => chart.getByRole('row').count()).toBe(91);
    await page.getByRole('link', { name: 'Model costs' }).click();
    await page.waitForURL('**/credits/models');
    const own = page.getByRole('region', { name: 'Models in your runs' });
    await expect
      .poll(() => own.getByRole('row').nth(1).innerText())
      .toMatch(/GPT-6\.1 Terra\s+OpenAI\s+8\.3\s+59%\s+4\s+8,123 in, 2,345 out\s+\$0\.021/);
    const prices = page.getByRole('region', { name: 'Prices of models' });
    await expect
      .poll(() => prices.getByRole('row').allInnerTexts())
      .toEqual([
        expect.stringMatching(/Model\s+Input\s+Output\s+One answer/),
        expect.stringMatching(/GPT-6\.1 Terra\s+OpenAI\s+\$1\.25\s+\$10\.00\s+\$0\.012/),
        expect.stringMatching(/Some Model\s+Some Maker\s+—\s+—\s+—/),
      ]);
    expect(await faultsInEveryLook(page)).toEqual([]);
  });

  it('the page follows the ledger, and its computed figures follow a moment later', async () => {
    const { api: streaming, listening, publish, publishStale } = accountStream();
    const later = {
      ...analytics,
      most_used_models: [
        { model: 'later-model', name: 'Later Model', total_credits: 14, millicredits: 14_000 },
      ],
    };
    let fetched = 0;
    let isComputed = false;
    const page = await open('/credits', {
      api: member({
        ...streaming,
        'GET /api/credits/analytics': () => {
          fetched += 1;
          return ok(isComputed ? later : analytics);
        },
      }),
    });
    const models = page.getByRole('region', { name: 'Most Used AI Models' });
    await expect.poll(() => models.innerText()).toContain('GPT-6.1 Terra\n8.3 · 59%');
    await expect.poll(() => Promise.resolve(listening())).toBe(1);
    const before = fetched;
    publish({ ...balance, available_credits: 72 });
    await page.getByText('72', { exact: true }).first().waitFor();
    // This fetch is too early: the figures are computed after the ledger.
    await expect.poll(() => fetched).toBe(before + 1);
    await expect.poll(() => models.innerText()).toContain('GPT-6.1 Terra\n8.3 · 59%');
    isComputed = true;
    publishStale('run_usage');
    publishStale('credit_analytics');
    await models.getByText('Later Model').waitFor();
    // The page uses nothing of the other read model.
    expect(fetched).toBe(before + 2);
  });

  it('the page of an account without transactions says what to do', async () => {
    const page = await open('/credits', { api: empty });
    await page.getByText('No transactions yet').waitFor();
    const first = page.getByRole('link', { name: 'Purchase Your First Credits' });
    await expect.poll(() => first.getAttribute('href')).toBe('/credits/purchase');
    await expect.poll(() => page.getByText('—', { exact: true }).count()).toBe(1);
    expect(await violations(page)).toEqual([]);
  });

  it('the page loads everything again after everything failed', async () => {
    let isDown = true;
    const whole = member();
    const page = await open('/credits', {
      api: (call) => (isDown && call.path.startsWith('/api/credits/') ? failing : whole(call)),
    });
    await page.getByText('Failed to load credit information').first().waitFor();
    await page.getByText('Credits: --').first().waitFor();
    isDown = false;
    await page.getByRole('button', { name: 'Try Again' }).click();
    await page.getByText('Available Credits').waitFor();
    await page.getByText('−14').waitFor();
  });

  it('a part of the page that fails leaves the rest in place', async () => {
    const page = await open('/credits', {
      api: member({
        'GET /api/credits/analytics': failing,
        'GET /api/credits/purchases': failing,
      }),
    });
    await page.getByText('Failed to load usage statistics').first().waitFor();
    await page.getByText('Failed to load purchases').first().waitFor();
    await page.getByText('−14').waitFor();
    await expect.poll(() => page.getByRole('button', { name: 'Try Again' }).count()).toBe(2);
  });
});

describe('the transaction history', () => {
  it('a line links to its run, its purchase and its receipt, with sign and word', async () => {
    const page = await open('/credits', { api: member(rich) });
    const line = (words: string) =>
      historyOf(page).getByRole('listitem').filter({ hasText: words });
    await expect.poll(() => line('Balanced run').innerText()).toMatch(/Consumption · .*−14/s);
    await expect
      .poll(() => line('Balanced run').getByRole('link').getAttribute('href'))
      .toBe(`/optimizations/${runId(1)}`);
    const bought = line('Purchase: Boost 20');
    await expect.poll(() => bought.innerText()).toContain('+20');
    await expect
      .poll(() => bought.getByRole('link', { name: /^Receipt/ }).getAttribute('href'))
      .toBe('https://receipts.example/4');
    await bought.getByRole('link', { name: 'Purchase: Boost 20', exact: true }).click();
    await expect
      .poll(() => page.evaluate(() => document.activeElement?.id))
      .toBe(`purchase-${purchases[3]?.id}`);
  });

  it('older lines load after the last one, until there are none', async () => {
    const pages = [50, 3].map((count, at) =>
      Array.from({ length: count }, (_, index) => lineOf(at * 50 + index + 1)),
    );
    const page = await open('/credits', {
      api: member({ 'GET /api/credits/history': () => ok(pages.shift() ?? []) }),
    });
    const list = historyOf(page).getByRole('listitem');
    await expect.poll(() => list.count()).toBe(50);
    await page.getByRole('button', { name: 'Load more transactions' }).click();
    await expect.poll(() => list.count()).toBe(53);
    await expect.poll(() => page.getByRole('button', { name: /Load more/ }).count()).toBe(0);
  });

  it('the history is filtered by the address and says which lines it searched', async () => {
    const page = await open('/credits?type=refund', {
      api: member({
        ...rich,
        'GET /api/credits/history': ok(
          Array.from({ length: 50 }, (_, index) =>
            lineOf(index + 1, index === 0 ? { transaction_type: 'refund', amount: 7 } : {}),
          ),
        ),
      }),
    });
    const history = historyOf(page);
    await history
      .getByText('Refund: 1 of the newest 50 transactions. Load more to search older ones.')
      .waitFor();
    await expect.poll(() => history.getByRole('listitem').count()).toBe(1);
    await history.getByLabel('Month').selectOption(month);
    await history.getByText(/^Refund: 3 of 13 transactions in /).waitFor();
    await expect.poll(() => new URL(page.url()).search).toBe(`?type=refund&month=${month}`);
    await history.getByLabel('Type').selectOption('');
    await expect.poll(() => history.getByRole('listitem').count()).toBe(13);
    await expect
      .poll(() => history.getByText(/^Statement of/).getAttribute('href'))
      .toBe(`/credits/statements/${month}`);
  });

  it('the history downloads as a file with every line that matches the filter', async () => {
    const pages = [50, 200, 40];
    const page = await open('/credits?type=consumption', {
      api: member({
        'GET /api/credits/history': () =>
          ok(Array.from({ length: pages.shift() ?? 0 }, (_, index) => lineOf(index + 1))),
      }),
    });
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      historyOf(page).getByRole('button', { name: 'Download CSV' }).click(),
    ]);
    expect(file.suggestedFilename()).toBe('sevenfold-transactions-consumption.csv');
    const content = await textOf(file);
    expect(content.split('\r\n')).toHaveLength(1 + 240 + 1);
    expect(content.startsWith('\uFEFFid,created_at,transaction_type')).toBe(true);
  });
});

describe('the purchases', () => {
  it('each purchase shows its state and what can be done', async () => {
    const page = await open('/credits', { api: member(rich) });
    const rows = purchasesOf(page).getByRole('listitem');
    await expect.poll(() => rows.count()).toBe(purchases.length);
    const says = async (index: number) => (await rows.nth(index).innerText()).replace(/\s+/g, ' ');
    await expect
      .poll(() => says(0))
      .toMatch(
        /Boost 20 \$10\.00 Not confirmed .*If you've paid, it will show here within minutes/,
      );
    await expect
      .poll(() =>
        rows
          .nth(0)
          .getByRole('link', { name: /^Continue/ })
          .getAttribute('href'),
      )
      .toBe('https://checkout.example/1');
    await expect.poll(() => says(0)).not.toContain('charged');
    await expect
      .poll(() => says(2))
      .toMatch(/Side-Gig Builder · monthly \$25\.00 Paid 50 credits .* 37 unused/);
    await expect.poll(() => says(2)).toContain('$18.50, until');
    await expect
      .poll(() => says(4))
      .toContain('Refund pending $6.00 for 12 credits is on its way to you.');
    await expect.poll(() => says(5)).toContain('Refunded $6.00 for 12 credits.');
    await expect
      .poll(() => says(5))
      .toContain(
        'No credits left to refund: all are used, reserved, refunded, or went toward what you owed.',
      );
    await expect
      .poll(() => says(6))
      .toContain("Refund failed We couldn't refund $0.50. 1 credit is back in your balance.");
    await expect.poll(() => says(7)).toContain('disputed, or returned');
    await expect.poll(() => says(8)).toContain('The 30-day refund window has ended.');
    const receipt = rows.nth(3).getByRole('link', { name: /^Receipt of Boost 20/ });
    await expect.poll(() => receipt.getAttribute('rel')).toBe('noopener noreferrer');
  });

  it('purchases load until the one that a link named is found', async () => {
    const many = Array.from({ length: 51 }, (_, index) => purchaseOf(index + 1));
    const last = many[50];
    const page = await open(`/credits#lot-${last?.lot_id}`, {
      api: member({
        'GET /api/credits/purchases': ({ search }) =>
          ok(search === '' ? many.slice(0, 50) : many.slice(50)),
      }),
    });
    await expect
      .poll(() => page.evaluate(() => document.activeElement?.id))
      .toBe(`lot-${last?.lot_id}`);
    expect(callsTo('/api/credits/purchases').at(-1)?.search).toBe(`?before=${many[49]?.id}`);
  });

  it('an unfinished purchase can be given up', async () => {
    let isForgotten = false;
    const [unfinished] = purchases;
    const page = await open('/credits', {
      api: member({
        'GET /api/credits/purchases': () =>
          ok(isForgotten ? [] : [{ ...unfinished, checkout_url: null }]),
        [`POST /api/credits/purchases/${unfinished?.id}/forget`]: () => {
          isForgotten = true;
          return ok({ status: 'expired' });
        },
      }),
    });
    const forget = page.getByRole('button', { name: 'Remove Boost 20' });
    await forget.waitFor();
    // Without an open page, continuing would be another purchase.
    await expect.poll(() => purchasesOf(page).getByText('Continue').count()).toBe(0);
    await forget.click();
    await page.getByText("Boost 20: Removed. You weren't charged.").waitFor();
    await purchasesOf(page).getByText('Your purchases will appear here').waitFor();
    await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe('purchases');
  });

  it('a refund names credits and amount first, and the page follows its outcome', async () => {
    const stages = [
      purchaseOf(4),
      purchaseOf(4, {
        refundable: null,
        unused_credits: 0,
        refusal: 'pending',
        refunds: [refundOf()],
      }),
    ];
    let stage = 0;
    const page = await open('/credits', {
      api: member({
        'GET /api/credits/purchases': () => ok([stages[stage]]),
        [`POST /api/credits/purchases/${purchaseOf(4).id}/refund`]: () => {
          stage = 1;
          return { ...ok(refundOf()), status: 201 };
        },
      }),
    });
    const button = page.getByRole('button', { name: 'Refund unused credits of Boost 20' });
    await button.click();
    const dialog = page.getByRole('dialog');
    await expect
      .poll(() => dialog.innerText())
      .toContain('12 credits for $6.00, out of 20 credits of Boost 20');
    await expect.poll(() => dialog.getByText('Your plan will end now').count()).toBe(0);
    await page.keyboard.press('Escape');
    await expect
      .poll(() => button.evaluate((element) => element === document.activeElement))
      .toBe(true);
    expect(callsTo(`/api/credits/purchases/${purchaseOf(4).id}/refund`)).toHaveLength(0);
    await button.click();
    await dialog.getByRole('button', { name: 'Refund $6.00' }).click();
    await purchasesOf(page).getByText('Refund pending').waitFor();
    await expect
      .poll(() => page.evaluate(() => document.activeElement?.id))
      .toBe(`purchase-${purchaseOf(4).id}`);
    await expect.poll(() => button.count()).toBe(0);
    const [sent] = callsTo(`/api/credits/purchases/${purchaseOf(4).id}/refund`);
    expect(sent?.body).toEqual({ credits: 12, ends_plan: false });
    expect(sent?.headers.get('idempotency-key')).toMatch(/^[\w-]{36}$/);
  });

  it('a double click requests one refund', async () => {
    const path = `/api/credits/purchases/${purchaseOf(4).id}/refund`;
    const page = await open('/credits', {
      api: member({
        'GET /api/credits/purchases': ok([purchaseOf(4)]),
        [`POST ${path}`]: { ...ok(refundOf()), status: 201 },
      }),
    });
    await page.getByRole('button', { name: 'Refund unused credits of Boost 20' }).click();
    const confirm = page.getByRole('dialog').getByRole('button', { name: 'Refund $6.00' });
    await confirm.waitFor();
    // Both clicks come before the next render.
    await confirm.evaluate((button: HTMLElement) => {
      button.click();
      button.click();
    });
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0);
    expect(callsTo(path)).toHaveLength(1);
  });

  it('a refund whose reply was lost is repeated with the same key, and the page says that it may have arrived', async () => {
    const path = `/api/credits/purchases/${purchaseOf(4).id}/refund`;
    const answers = [failing, problem(409, 'refund-changed', 'By now 3 credits are unused.')];
    const page = await open('/credits', {
      api: member({
        'GET /api/credits/purchases': ok([purchaseOf(4)]),
        [`POST ${path}`]: () => answers.shift() ?? failing,
      }),
    });
    await page.getByRole('button', { name: 'Refund unused credits of Boost 20' }).click();
    const dialog = page.getByRole('dialog');
    const confirm = dialog.getByRole('button', { name: 'Refund $6.00' });
    await confirm.click();
    await dialog.getByText(/We don't know if your request arrived/).waitFor();
    await confirm.click();
    await dialog.getByText('By now 3 credits are unused.').waitFor();
    await dialog.getByText('Nothing was refunded.').waitFor();
    await expect.poll(() => confirm.count()).toBe(0);
    const keys = callsTo(path).map(({ headers }) => headers.get('idempotency-key'));
    expect(keys).toHaveLength(2);
    expect(keys[0]).toBe(keys[1]);
    await dialog.getByRole('button', { name: 'Close' }).click();
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0);
  });
});

describe('a monthly statement', () => {
  it('the statement passes axe and fits every window, light and dark', async () => {
    const page = await open(`/credits/statements/${month}`, { api: member(rich) });
    await page.getByText('Onboarding bonus').waitFor();
    expect(await faultsInEveryLook(page)).toEqual([]);
  });

  it('an address without a month leads to the newest statement, which links to the others', async () => {
    const page = await open('/credits/statements', {
      api: member({
        ...rich,
        'GET /api/credits/statements/2026-10': ok({
          ...statement,
          month: '2026-10',
          is_running: false,
          lines: [],
        }),
      }),
    });
    await page.waitForURL(`**/credits/statements/${month}`);
    await page.getByText('Month in progress').waitFor();
    await expect.poll(() => page.title()).toBe(`Statement ${month} · Sevenfold`);
    await page.getByRole('link', { name: 'Older: October 2026' }).click();
    await page.getByText('No transactions in October 2026.').waitFor();
    await expect.poll(() => page.getByText('Month in progress').count()).toBe(0);
    await page.getByLabel('Month', { exact: true }).selectOption('2026-08');
    await page.getByRole('button', { name: 'Show' }).click();
    await page.waitForURL('**/credits/statements/2026-08');
    await page.getByRole('heading', { name: "We can't find that page" }).waitFor();
  });

  it('the page says when there is no statement yet, and when an address names no month', async () => {
    const page = await open('/credits/statements');
    await page.getByText(/for every month in which you receive/).waitFor();
    expect(await violations(page)).toEqual([]);
    const other = await open('/credits/statements/2026-13');
    await other.getByRole('heading', { name: "We can't find that page" }).waitFor();
  });

  it('each line of a statement links to its run, its purchase and its receipt', async () => {
    const page = await open(`/credits/statements/${month}`, { api: member(rich) });
    const row = (words: string) => page.getByRole('row').filter({ hasText: words });
    await expect
      .poll(() =>
        row('Balanced run')
          .getByRole('link')
          .evaluateAll((links) => links.map((link) => link.getAttribute('href'))),
      )
      .toEqual([
        `/optimizations/${runId(1)}`,
        `/credits#purchase-${purchases[3]?.id}`,
        'https://receipts.example/4',
      ]);
    await expect.poll(() => row('Purchase: Boost 20').innerText()).toContain('$10.00');
    await expect.poll(() => page.getByRole('row').last().innerText()).toMatch(/Balance now\s+109/);
  });

  it("a statement downloads as the server's file, byte for byte", async () => {
    const content = '\uFEFFdate,credits\r\n2026-11-01,20\r\n';
    const page = await open(`/credits/statements/${month}`, {
      api: member({
        ...rich,
        [`GET /api/credits/statements/${month}`]: ({ search }) =>
          search === '?format=csv'
            ? {
                status: 200,
                body: new Blob([content]).stream(),
                headers: { 'content-type': 'text/csv; charset=utf-8' },
              }
            : ok(statement),
      }),
    });
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download CSV' }).click(),
    ]);
    expect(file.suggestedFilename()).toBe(`sevenfold-statement-${month}.csv`);
    expect(await textOf(file)).toBe(content);
  });

  it('a statement is black on white on paper, without controls', async () => {
    const page = await open(`/credits/statements/${month}`, {
      width: 320,
      theme: 'dark',
      api: member(rich),
    });
    await page.getByText('Onboarding bonus').waitFor();
    await expect.poll(() => sidewaysScroll(page)).toBe(0);
    await page.evaluate(() => document.documentElement.style.setProperty('font-size', '200%'));
    await expect.poll(() => sidewaysScroll(page)).toBe(0);
    await page.evaluate(() => document.documentElement.style.removeProperty('font-size'));
    await page.emulateMedia({ media: 'print' });
    const drawn = await page.evaluate(() => {
      const of = (element: Element | null) => element && getComputedStyle(element);
      return {
        paper: of(document.body)?.backgroundColor,
        ink: of(document.querySelector('main td'))?.color,
        shown: [...document.querySelectorAll('nav, header, footer, main form, main button')].filter(
          (element) => element.checkVisibility(),
        ).length,
      };
    });
    expect(drawn).toEqual({ paper: 'rgb(255, 255, 255)', ink: 'rgb(0, 0, 0)', shown: 0 });
    await expect.poll(() => page.getByText(/^Credit statement, /).isVisible()).toBe(true);
  });
});

describe('the badge in the bar', () => {
  const withBalance = (available_credits: number, reserved_credits = 0) =>
    member({
      'GET /api/credits/balance': ok({ ...balance, available_credits, reserved_credits }),
    });

  it('the badge shows a debt instead of the tier, and the page reports an unpaid plan', async () => {
    const page = await open('/credits', {
      api: member({
        'GET /api/credits/balance': ok({ ...balance, available_credits: 50, debt_credits: 14 }),
        'GET /api/credits/plan': ok({
          tier: 'pro',
          monthly_limit: 50,
          plan: {
            package_id: 'side-gig-builder',
            package_name: 'Side-Gig Builder',
            status: 'past_due',
            credits: 50,
            amount_cents: 2_500,
            currency: 'usd',
            current_period_end: null,
            due_cents: 15_000,
            grace_until: null,
            next_package_id: null,
          },
        }),
      }),
    });
    await page.getByRole('banner').getByText('14 owed').waitFor();
    await page.getByText("Your last payment of $150 didn't go through.").waitFor();
    await page.getByRole('link', { name: 'See your plan' }).waitFor();
  });

  it('the phone menu shows the full balance', async () => {
    const page = await open('/credits', { width: 390, api: withBalance(8, 14) });
    await page.getByRole('button', { name: 'Menu' }).click();
    const menu = page.getByRole('dialog');
    await expect.poll(() => menu.innerText()).toContain('8 credits');
    await expect
      .poll(() => menu.getByRole('link', { name: 'Buy More Credits' }).getAttribute('href'))
      .toBe('/credits/purchase');
    expect(await violations(page)).toEqual([]);
  });
});
