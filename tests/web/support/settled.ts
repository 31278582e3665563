import { setTimeout as sleep } from 'node:timers/promises';
import type { Page, Request } from 'playwright-core';

/**
 * When a page has come to rest. The browser's own `networkidle` waits half a second after the last
 * request, even while drawing continues; here the page itself is asked.
 */
type Seen = {
  /** Requests without a response. */
  open: Set<Request>;
  /** The script has asked for the session, its first request, and got a reply. */
  isAlive: boolean;
};

const seen = new WeakMap<Page, Seen>();

/** Call it on a new page before its first navigation; later calls change nothing. */
export function watchRequests(page: Page): void {
  if (seen.has(page)) return;
  const known: Seen = { open: new Set(), isAlive: false };
  seen.set(page, known);
  page.on('request', (request) => {
    if (request.isNavigationRequest() && request.frame() === page.mainFrame())
      known.isAlive = false;
    // The event stream stays open as long as the page.
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
 * Resolves once the page is hydrated and has its heading and fonts, nothing in it is busy, no
 * request is open and no finite animation runs, and all that still holds two frames later.
 * @throws after 30 s, naming what the page waits for
 */
export async function settled(page: Page): Promise<void> {
  const known = seen.get(page);
  if (!known) throw new Error('Call watchRequests on a new page before its first navigation');
  const waitsFor = async (): Promise<string[]> => [
    ...(known.isAlive ? [] : ['its script']),
    ...[...known.open].map((request) => `${request.method()} ${request.url()}`),
    ...(await page.evaluate(pendingWork)),
  ];
  const end = performance.now() + timeoutMs;
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

const timeoutMs = 30_000;

function pathOf(request: Request): string {
  return new URL(request.url()).pathname;
}

/** Runs in the page: what it is waiting for. */
function pendingWork(): string[] {
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

/** Runs in the page: lets the last reply be drawn and start further requests. */
async function twoFrames(): Promise<void> {
  for (let frame = 0; frame < 2; frame += 1)
    await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
}
