import type { DueOutcomes } from '#services/optimizations/contract/outcomes.ts';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import type {
  Balance,
  CreditAnalytics,
  ModelCosts,
  Transaction,
} from '#services/credits/contract.ts';
import type { CheckReply } from '#services/optimizations/contract/requests.ts';
import type {
  DashboardStats,
  StrategiesReply,
  Strategy,
  Usage,
} from '#services/optimizations/contract/panel.ts';
import type { Brief, BriefRun, Community } from '#services/optimizations/contract/dashboard.ts';
import type { ListedRun } from '#services/optimizations/contract/run.ts';
import { packages } from '#services/payments/catalogue.ts';
import { findings } from './axe.ts';
import { launchBrowser } from './browser.ts';
import { watchRequests } from './settled.ts';
import {
  type Api,
  type Call,
  ok,
  problem,
  type Reply,
  serveSite,
  sessionOf,
  type Site,
} from './site.ts';
import { createTabs, type Tabs } from './tabs.ts';

/**
 * The signed-in pages in a real browser, with the server's replies chosen by the test. An error in the
 * console, or a report of the content policy, fails its test.
 */

export const balance: Balance = {
  available_credits: 86,
  reserved_credits: 0,
  debt_credits: 0,
  spending_frozen: false,
  total_purchased: 100,
  total_consumed: 14,
  total_credits: 100,
  used_credits: 14,
};

function modelOf(
  model: string,
  name: string,
  maker: string,
  millicredits: number,
): CreditAnalytics['models'][number] {
  return {
    model,
    name,
    maker,
    simulated: false,
    calls: 4,
    answers: 4,
    input_tokens: 8123,
    output_tokens: 2345,
    cost: 0.0213,
    cost_is_minimum: false,
    millicredits,
  };
}

export const analytics: CreditAnalytics = {
  monthly_consumption: 14,
  consumption_by_month: Array.from({ length: 12 }, (_, index) => ({
    month: new Date(Date.UTC(2025, 11 + index, 1)).toISOString().slice(0, 7),
    credits: index === 11 ? 14 : index * 3,
  })),
  consumption_by_day: Array.from({ length: 90 }, (_, index) => ({
    day: new Date(Date.UTC(2026, 10, 20 - 89 + index)).toISOString().slice(0, 10),
    credits: index % 7,
  })),
  average_cost_per_optimization: 13.5,
  completed_optimizations: 2,
  total_consumed: 14,
  most_used_models: [
    { model: 'gpt-6.1-terra', name: 'GPT-6.1 Terra', total_credits: 8, millicredits: 8260 },
    { model: 'claude-sonnet-5-5', name: 'Claude Sonnet 5.5', total_credits: 6, millicredits: 5740 },
  ],
  models: [
    modelOf('gpt-6.1-terra', 'GPT-6.1 Terra', 'OpenAI', 8260),
    modelOf('claude-sonnet-5-5', 'Claude Sonnet 5.5', 'Anthropic', 5740),
  ],
  as_of: '2026-11-20T08:00:00.000Z',
};

const noAnswers = { answers: null, average_cost: null };

const modelPrices: ModelCosts = {
  models: [
    {
      id: 'gpt-6.1-terra',
      name: 'GPT-6.1 Terra',
      provider: 'openai',
      maker: 'OpenAI',
      input_price: 1.25,
      cached_input_price: 0.125,
      output_price: 10,
      answers: 40,
      average_cost: 0.0123,
      simulated: noAnswers,
    },
    {
      id: 'some-model',
      name: 'Some Model',
      provider: 'router',
      maker: 'Some Maker',
      input_price: null,
      cached_input_price: null,
      output_price: null,
      ...noAnswers,
      simulated: noAnswers,
    },
  ],
  as_of: '2026-11-20T08:00:00.000Z',
};

export const stats: DashboardStats = {
  optimizations_used: 1,
  optimizations_limit: 5,
  success_rate: 2 / 3,
  completed_optimizations: 2,
  failed_optimizations: 1,
  average_cost_per_optimization: 13.5,
  average_minutes: null,
  timed_optimizations: 0,
  average_agreement: null,
  scored_optimizations: 0,
  models_total: 7,
  as_of: '2026-11-20T08:00:00.000Z',
};

export const usage: Usage = {
  current_month: 1,
  limit: 5,
  percentage: 20,
  month: '2026-11',
  resets_at: '2026-12-01T00:00:00.000Z',
  bonus_used: 1,
  can_block: false,
  as_of: '2026-11-20T08:00:00.000Z',
};

const decision: BriefRun = {
  id: runId(2),
  title: 'Answering a competitor at half the price',
  ended_at: '2026-11-20T08:00:00.000Z',
  outcome: 'Recommended by 5 of 7 models',
  decision: 'Keep your price, and add a guarantee.',
  agreement_score: 82,
  agreement_band: 'strong',
  simulated: true,
  consensus: ['A lower price loses the buyers who pay most.'],
  consensus_total: 4,
  open: [{ text: 'Whether a guarantee costs too much.', settled_by: 'A month with 10 buyers.' }],
  open_total: 1,
  next_steps: [
    {
      action: 'Offer the guarantee to 10 buyers.',
      facts: [{ label: 'By', text: 'December 4, 2026' }],
    },
  ],
  credits: 14,
};

export const brief: Brief = {
  from: '2026-10-25T12:00:00.000Z',
  to: '2026-11-24T12:00:00.000Z',
  runs: [decision],
  left_out: 0,
  completed: 2,
  failed: 1,
  cancelled: 0,
  credits: 35,
};

const community: Community = {
  shares: false,
  as_of: '2026-11-23T00:00:00.000Z',
  everyone: null,
  groups: [],
  standing: null,
};

export function runId(number: number): string {
  return `opt_${String(number).padStart(26, '0')}`;
}

export function runOf(number: number, change: Partial<ListedRun> = {}): ListedRun {
  const createdAt = new Date(Date.now() - number * 3_600_000).toISOString();
  return {
    id: runId(number),
    title: `Question ${number}`,
    description: `Question ${number}`,
    status: 'completed',
    strategy: 'balanced',
    challenge_type: 'business_strategy',
    progress: 100,
    agreement_score: 82,
    confidence_score: null,
    votes_for: null,
    votes_total: null,
    outcome: null,
    cost: 0.021,
    cost_is_minimum: false,
    credits: { price: 14, reserved: 0, charged: 14, refunded: 0, settlement: 'settled' },
    simulated: true,
    simulated_seats: 7,
    root_id: null,
    refinement_number: null,
    refinements: 0,
    newest_outcome: null,
    running_refinement_id: null,
    created_at: createdAt,
    createdAt,
    ended_at: createdAt,
    ...change,
  };
}

export function lineOf(number: number, change: Partial<Transaction> = {}): Transaction {
  return {
    id: `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`,
    transaction_type: 'consumption',
    description: 'Balanced run',
    created_at: new Date(Date.now() - number * 3_600_000).toISOString(),
    amount: -14,
    balance_after: 86,
    reason_code: 'run',
    run_id: runId(number),
    ...change,
  };
}

/** Who sits, as far as a page shows it. */
const panel = {
  seats: [
    {
      seat: 'S1',
      role: 'strategic',
      model: 'gpt-6.1-terra',
      name: 'GPT-6.1 Terra',
      simulated: false,
    },
  ],
  typical_seconds: 30,
  at_most_seconds: 960,
  duration: { p50: 28, p90: 41, runs: 20 },
  available: true,
  unavailable: null,
  missing: [],
  makers: 4,
  copies: 0,
  substitutions: [],
  summary: 'All 7 seats as designed',
  independence: [],
  verdict: 'full',
  providers: [{ name: 'OpenAI', simulated: false }],
  simulated: false,
} satisfies Partial<Strategy>;

export function strategyOf(id: Strategy['id'], change: Partial<Strategy> = {}): Strategy {
  return {
    id,
    name: id.charAt(0).toUpperCase() + id.slice(1),
    description: 'Seven models of four providers.',
    costTier: 3,
    models: {
      strategic: ['gpt-6.1-terra', 'claude-sonnet-5-5', 'gemini-4-hydrogen'],
      risk: ['mistral-medium-2604', 'claude-haiku-5-5'],
      implementation: ['gemini-3.8-flash', 'gpt-6-luna'],
    },
    biasDetection: true,
    parallelExecution: true,
    recommended: id === 'balanced',
    credits: 14,
    ...panel,
    ...change,
  };
}

export const strategies = [
  strategyOf('fast', { credits: 4 }),
  strategyOf('balanced'),
  strategyOf('ultra', {
    credits: 104,
    available: false,
    unavailable: 'No model is available.',
    missing: ['GPT-6 Astra'],
  }),
];

export const checker: StrategiesReply['checker'] = { name: 'OpenAI', simulated: false };

export const page = (data: ListedRun[], total: number = data.length): Reply => ({
  status: 200,
  body: {
    data,
    pagination: { page: 1, limit: 10, total, total_pages: Math.max(1, Math.ceil(total / 10)) },
  },
});

/** The user's private account data. */
export const account = {
  email_confirmed: true,
  has_password: true,
  pending_email: null,
  shares_statistics: false,
  onboarding_completed_at: null,
  notify_run_finished: false,
  notify_low_balance: true,
};

type Answers = Readonly<Record<string, Reply | ((call: Call) => Reply)>>;

/** A signed-in user with data for every page; `answers` by method and path take precedence. */
export function member(answers: Answers = {}, name: string = 'Ada Example'): Api {
  let isSignedIn = true;
  const known: Answers = {
    'GET /api/auth/session': () => ok(isSignedIn ? sessionOf(name) : null),
    'POST /api/auth/logout': () => {
      isSignedIn = false;
      return ok({ ok: true });
    },
    'GET /api/users/me': ok({ ...sessionOf(name).user, ...account, optimizations_used: 1 }),
    'GET /api/users/me/stats': ok(stats),
    'GET /api/community': ok(community),
    'GET /api/optimizations/brief': ok(brief),
    'GET /api/optimizations/outcomes/due': ok({ due: [], total: 0 } satisfies DueOutcomes),
    'GET /api/optimizations/competitive': ok({ run: decision }),
    'GET /api/credits/model-costs': ok(modelPrices),
    'GET /api/auth/sessions': ok([]),
    'GET /api/api-keys': ok([]),
    'GET /api/credits/balance': ok(balance),
    'GET /api/credits/packages': ok(packages),
    'GET /api/credits/plan': ok({ tier: 'free', monthly_limit: 5, plan: null }),
    'GET /api/credits/analytics': ok(analytics),
    'GET /api/credits/history': ok([lineOf(1)]),
    'GET /api/credits/purchases': ok([]),
    'GET /api/credits/statements': ok([]),
    'POST /api/credits/check-usage': ok({
      has_sufficient_credits: true,
      required_credits: 14,
      current_balance: 86,
      shortfall: 0,
      refusal: null,
    }),
    'GET /api/optimizations': page([runOf(1)]),
    'GET /api/optimizations/usage': ok(usage),
    'GET /api/optimizations/strategies': ({ search }) =>
      ok({
        strategies: strategies.map((one) =>
          search === '?allow_simulated=true' ? { ...one, available: true, unavailable: null } : one,
        ),
        checker,
      }),
    'POST /api/optimizations/check': ok({
      verdict: 'ready',
      questions: [],
      why: null,
      skipped: false,
    } satisfies CheckReply),
    'POST /api/optimizations/estimate': ok({
      estimate: {
        strategy: 'balanced',
        cost: 0.021,
        credits: 14,
        ...panel,
        catalogue_version: '2026-11-20.0123abcd',
      },
    }),
    ...answers,
  };
  return (call) => {
    const answer = known[`${call.method} ${call.path}`];
    if (answer === undefined) return problem(404, 'not-found', "There's nothing at this address.");
    return typeof answer === 'function' ? answer(call) : answer;
  };
}

export const failing = problem(500, 'internal', 'Something went wrong on our side.');

export type MemberSite = {
  open: (
    path: string,
    options?: {
      width?: number;
      theme?: 'light' | 'dark';
      api?: Api;
      /** For a test that installs a clock or a script later. */
      isFresh?: boolean;
      /** Prepares a fresh page before its first navigation. */
      prepare?: (page: Page) => Promise<void>;
    },
  ) => Promise<Page>;
  site: () => Site;
};

/** Call once at the top of a test file. `isLocal` is the server's mode. */
export function useMemberSite({ isLocal = true }: { isLocal?: boolean } = {}): MemberSite {
  let browser: Browser;
  let site: Site;
  let tabs: Tabs;
  let consoleErrors: string[] = [];

  beforeAll(async () => {
    [browser, site] = await Promise.all([launchBrowser(), serveSite({ isLocal })]);
    tabs = createTabs(browser, site.origin, (context) => {
      context.on('weberror', (error) => consoleErrors.push(error.error().message));
      context.on('console', (message) => {
        // A failed request is no error of the page.
        const isCall = message.text().startsWith('Failed to load resource');
        if (message.type() === 'error' && !isCall) consoleErrors.push(message.text());
      });
    });
  });
  afterAll(async () => {
    await browser.close();
    await site.close();
  });
  afterEach(async () => {
    await tabs.reset();
    site.calls.length = 0;
    const unexpected = consoleErrors;
    consoleErrors = [];
    expect(unexpected).toEqual([]);
  });

  return {
    site: () => site,
    async open(
      path,
      { width = 1440, theme = 'light', api = member(), isFresh = false, prepare } = {},
    ) {
      site.answer(api);
      const opened = await tabs.open(
        { width, theme, motion: 'reduce' },
        { isFresh: isFresh || prepare !== undefined },
      );
      watchRequests(opened);
      await prepare?.(opened);
      await opened.goto(`${site.origin}${path}`);
      await opened.locator('main h1').waitFor();
      return opened;
    },
  };
}

/** The violations on the whole page, each with its markup. */
export async function violations(opened: Page): Promise<string[]> {
  const height = await opened.evaluate(() => document.documentElement.scrollHeight);
  const width = opened.viewportSize()?.width ?? 1280;
  await opened.setViewportSize({ width, height: Math.max(height, 900) });
  // A changed theme is drawn in the next frame, and colours may still be in transition.
  await opened.evaluate(async () => {
    await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
    const ending = document
      .getAnimations()
      .filter((each) => Number.isFinite(each.effect?.getComputedTiming().endTime));
    await Promise.allSettled(ending.map(({ finished }) => finished));
  });
  return findings(opened);
}

/**
 * What axe finds on the whole page in these looks, and where it scrolls sideways: each theme and each width
 * once, because contrast depends on the theme, layout and targets on the width.
 */
export async function faultsInEveryLook(
  opened: Page,
  { isDarkWide = false }: { isDarkWide?: boolean } = {},
): Promise<string[]> {
  const faults: string[] = [];
  for (const width of [1280, 360]) {
    const theme = (width === 1280) === isDarkWide ? 'dark' : 'light';
    await opened.emulateMedia({ colorScheme: theme });
    await opened.setViewportSize({ width, height: 900 });
    const found = await violations(opened);
    const wider = await sidewaysScroll(opened);
    if (wider > 0) found.push(`it is ${wider} px wider than its window`);
    faults.push(...found.map((fault) => `${theme} at ${width} px: ${fault}`));
  }
  return [...faults, ...(await narrowFaults(opened))];
}

/** Whether the page scrolls sideways at 320 px, also with text twice as large. */
async function narrowFaults(opened: Page): Promise<string[]> {
  const faults: string[] = [];
  await opened.setViewportSize({ width: 320, height: 900 });
  for (const size of ['100%', '200%']) {
    // Whatever follows its size by observer does so within a frame.
    await opened.evaluate(async (chosen) => {
      document.documentElement.style.fontSize = chosen;
      await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
    }, size);
    const wider = await sidewaysScroll(opened);
    if (wider > 0) faults.push(`it is ${wider} px too wide at 320 px with text of ${size}`);
  }
  await opened.evaluate(() => {
    document.documentElement.style.removeProperty('font-size');
  });
  return faults;
}

/** Pixels by which the page is wider than its window. */
export function sidewaysScroll(opened: Page): Promise<number> {
  return opened.evaluate(
    () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
  );
}
