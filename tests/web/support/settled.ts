import { setTimeout as sleep } from 'node:timers/promises';
import type { Page, Request } from 'playwright-core';

/**
 * When a page has come to rest. The browser's own `networkidle` says so half a second after the last
 * request, whether or not anything is still being drawn; here the page is asked what it waits for.
 */
type Seen = {
  /** Requests that have no answer yet. */
  open: Set<Request>;
  /** The script has asked who is signed in, which it does first of all, and was answered. */
  isAlive: boolean;
};

const seen = new WeakMap<Page, Seen>();

/** Call it on a new page, before it goes anywhere. */
export function watchRequests(page: Page): void {
  const known: Seen = { open: new Set(), isAlive: false };
  seen.set(page, known);
  page.on('request', (request) => {
    if (request.isNavigationRequest() && request.frame() === page.mainFrame())
      known.isAlive = false;
    // The event stream stays open as long as the page is there.
    if (pathOf(request) !== '/api/stream') known.open.add(request);
  });
  const ended = (request: Request) => {
    known.open.delete(request);
    if (pathOf(request).startsWith('/api/auth/')) known.isAlive = true;
  };
  page.on('requestfinished', ended);
  page.on('requestfailed', ended);
}

/**
 * Resolves once the script has taken the page over, its heading is there, nothing in it says that it
 * is busy, its fonts are there, no request is open, no finite animation runs, and two frames later
 * all of that still holds.
 * @throws after 30 s, with what the page waits for
 */
export async function settled(page: Page): Promise<void> {
  const known = seen.get(page);
  if (!known) throw new Error('Nobody has watched the requests of this page');
  const waitsFor = async (): Promise<string[]> => [
    ...(known.isAlive ? [] : ['its script']),
    ...[...known.open].map((request) => `${request.method()} ${request.url()}`),
    ...(await page.evaluate(restlessness)),
  ];
  const end = performance.now() + patienceMs;
  for (;;) {
    let waiting = await waitsFor();
    if (waiting.length === 0) {
      await page.evaluate(twoFrames);
      waiting = await waitsFor();
      if (waiting.length === 0) return;
    }
    if (performance.now() > end)
      throw new Error(`${page.url()} has not come to rest, but waits for ${waiting.join(', ')}`);
    await sleep(10);
  }
}

const patienceMs = 30_000;

function pathOf(request: Request): string {
  return new URL(request.url()).pathname;
}

/** Runs in the page: what it is waiting for. */
function restlessness(): string[] {
  const running = document
    .getAnimations()
    .filter(
      ({ effect, playState }) =>
        playState === 'running' && Number.isFinite(effect?.getComputedTiming().endTime),
    );
  return [
    ...(document.readyState === 'complete' ? [] : ['the document']),
    ...(document.querySelector('main h1') ? [] : ['its heading']),
    ...[...document.querySelectorAll('[aria-busy="true"]')].map((element) => element.outerHTML),
    ...(document.fonts.status === 'loaded' ? [] : ['fonts']),
    ...running.map((animation) => `animation ${animation.id}`),
  ];
}

/** Runs in the page: what the last answer set in motion has been drawn, and has asked for more. */
async function twoFrames(): Promise<void> {
  for (let frame = 0; frame < 2; frame += 1)
    await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
}
