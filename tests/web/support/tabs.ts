import type { Browser, BrowserContext, Page } from 'playwright-core';
import { agreed } from './browser.ts';

export type TabLook = {
  width: number;
  theme: 'light' | 'dark';
  motion: 'reduce' | 'no-preference';
};

export type Tabs = {
  /**
   * The first tab of a test is as good as new. Its further tabs share its cookies, its storage and, by
   * default, its look. With `isFresh` the window is new and closes after the test: for scripts and clocks
   * that stay installed, and for tests of a cold cache.
   */
  open: (look?: Partial<TabLook>, options?: { isFresh?: boolean }) => Promise<Page>;
  /** Call it after each test. */
  reset: () => Promise<void>;
};

const usual: TabLook = { width: 1280, theme: 'light', motion: 'no-preference' };

/**
 * One tab for the tests of a file in turn: loading a page there takes half the work that it takes in a new
 * window, with its own process and a cold cache.
 */
export function createTabs(
  browser: Browser,
  /** Has an empty page at `/empty`. */
  origin: string,
  watch: (context: BrowserContext) => void,
): Tabs {
  let kept: { context: BrowserContext; page: Page } | null = null;
  /** Of the current test. */
  let context: BrowserContext | null = null;
  let look = usual;

  const newContext = async (): Promise<BrowserContext> => {
    const made = await browser.newContext();
    watch(made);
    return made;
  };

  const firstTab = async (isFresh: boolean): Promise<Page> => {
    if (isFresh) {
      context = await newContext();
      return context.newPage();
    }
    if (kept === null) {
      const made = await newContext();
      kept = { context: made, page: await made.newPage() };
    }
    context = kept.context;
    return kept.page;
  };

  return {
    async open(chosen = {}, { isFresh = false } = {}) {
      let page: Page;
      if (context === null) {
        page = await firstTab(isFresh);
        look = { ...usual, ...chosen };
      } else {
        // The kept window must not get what stays installed.
        if (isFresh && context === kept?.context) kept = null;
        page = await context.newPage();
      }
      await page.setViewportSize({ width: look.width, height: 900 });
      await page.emulateMedia({ media: null, colorScheme: look.theme, reducedMotion: look.motion });
      return page;
    },
    async reset() {
      const used = context;
      context = null;
      if (used === null) return;
      if (used !== kept?.context || kept.page.isClosed()) {
        if (used === kept?.context) kept = null;
        await used.close();
        return;
      }
      await empty(kept.page, origin);
    },
  };
}

/** Makes a used tab as good as new. */
async function empty(page: Page, origin: string): Promise<void> {
  const context = page.context();
  for (const other of context.pages()) if (other !== page) await other.close();
  await context.unrouteAll({ behavior: 'ignoreErrors' });
  await page.unrouteAll({ behavior: 'ignoreErrors' });
  // A page may write into its storage as it is left.
  await page.goto(`${origin}/empty`);
  await page.evaluate(() => {
    localStorage.clear();
    sessionStorage.clear();
  });
  await page.mouse.move(0, 0);
  await context.clearPermissions();
  await context.clearCookies();
  await context.addCookies(agreed);
}
