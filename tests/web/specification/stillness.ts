import type { BrowserContext, Page } from 'playwright-core';
import { settled, watchRequests } from '#tests/web/support/settled.ts';

/** How much the pages of a user move after their first paint, while the server takes its time. */

/** The most layout shift of a page in total, also right after input. */
const stillEnough = 0.02;
/** Milliseconds by which each reply of the API is late. */
const lateByMs = 150;
/** Pages that load at the same time. */
const together = 4;

/** Call it once on a context, before its first page. */
export async function slowReplies(context: BrowserContext): Promise<void> {
  // In the page, because a page whose requests are intercepted has no cache.
  await context.addInitScript((ms: number) => {
    const send = globalThis.fetch;
    let late = 0;
    globalThis.fetch = async (...request) => {
      const { pathname } = new URL(new Request(...request).url);
      if (!pathname.startsWith('/api/') || pathname === '/api/stream') return send(...request);
      document.documentElement.dataset['late'] = String((late += 1));
      await new Promise((resolve) => setTimeout(resolve, ms));
      try {
        return await send(...request);
      } finally {
        document.documentElement.dataset['late'] = String((late -= 1));
      }
    };
  }, lateByMs);
}

/** Opens each address. Returns those that move too much, and what moves there. */
export async function movingPages(
  context: BrowserContext,
  addresses: readonly string[],
  /** What each page must show first. */
  sentence = '',
): Promise<string[]> {
  const moving: string[] = [];
  const waiting = [...addresses];
  const next = async (): Promise<void> => {
    const page = await context.newPage();
    for (let address = waiting.shift(); address !== undefined; address = waiting.shift()) {
      await openIn(page, address);
      await page.getByText(sentence).first().waitFor();
      moving.push(...(await tooMuch(page, address)));
    }
    await page.close();
  };
  await Promise.all(Array.from({ length: Math.min(together, addresses.length) }, next));
  return moving;
}

/** Starts a run by the form at this address, which must stand still until the chamber opens. */
export async function movingStart(
  context: BrowserContext,
  address: string,
  strategy: string,
): Promise<string[]> {
  const page = await openPage(context, address);
  await page.getByLabel('What business challenge are you facing?').fill('Rent or buy 2 vans?');
  await page.getByRole('radio', { name: strategy }).check();
  await page.getByText(/^Draft (kept|saved)/).waitFor();
  await settled(page);
  const pressedAt = await page.evaluate(() => performance.now());
  await page.getByRole('button', { name: 'Start Optimization' }).click();
  await page.waitForURL('**/evolution-chamber?id=opt_*');
  const moving = await tooMuch(page, `${address}, once Start is pressed,`, pressedAt);
  await page.close();
  return moving;
}

/** Opens a page on which `happening` ends with a sentence, without moving what stands there. */
export async function movingChange(
  context: BrowserContext,
  address: string,
  happening: () => Promise<unknown>,
  sentence: string,
): Promise<string[]> {
  const page = await openPage(context, address);
  await happening();
  await page.getByText(sentence).waitFor();
  await settled(page);
  return tooMuch(page, address);
}

async function openPage(context: BrowserContext, address: string): Promise<Page> {
  const page = await context.newPage();
  await openIn(page, address);
  return page;
}

async function openIn(page: Page, address: string): Promise<void> {
  watchRequests(page);
  await page.goto(address);
  // The bell comes last, once the page is drawn.
  await page.getByRole('button', { name: 'Notifications' }).waitFor();
  await page.locator('html[data-late="0"]').waitFor();
  await settled(page);
}

/** Counts from `since`, in milliseconds of the page. */
async function tooMuch(page: Page, name: string, since = 0): Promise<string[]> {
  const { sum, moved } = await page.evaluate(shifts, since);
  return sum > stillEnough ? [[`${name} moves by ${sum.toFixed(3)}`, ...moved].join('\n  ')] : [];
}

/** Runs in the page. */
async function shifts(since: number): Promise<{ sum: number; moved: string[] }> {
  type Shift = PerformanceEntry & {
    value: number;
    sources: { node: Node | null; previousRect: DOMRect; currentRect: DOMRect }[];
  };
  const all: Shift[] = [];
  new PerformanceObserver((list) => {
    all.push(...(list.getEntries() as Shift[]));
  }).observe({ type: 'layout-shift', buffered: true });
  await new Promise((resolve) => setTimeout(resolve, 50));
  const found = all.filter(({ startTime }) => startTime >= since);
  const box = ({ x, y, width, height }: DOMRect): string => `${x},${y} ${width}×${height}`;
  return {
    sum: found.reduce((sum, { value }) => sum + value, 0),
    moved: found.map(({ value, startTime, sources }) =>
      [
        `${value.toFixed(4)} after ${Math.round(startTime)} ms`,
        ...sources.map(
          ({ node, previousRect, currentRect }) =>
            `${node?.nodeName} "${node?.textContent?.slice(0, 40)}" ${box(previousRect)} → ${box(currentRect)}`,
        ),
      ].join('\n    '),
    ),
  };
}
