import { windowTitle } from './product.ts';
import type { AppRouter } from './router.tsx';

/** Milliseconds to wait for the heading of a page that is still loading. */
const headingWaitMs = 5_000;

/**
 * After each navigation: sets the window's title and focuses the new page's heading, so that a
 * screen reader starts there. A link to a part of a page focuses that part. The first page keeps
 * the browser's own focus. Returns the function that stops it.
 */
export function followPageViews(router: AppRouter): () => void {
  let first = true;
  let stopWaiting = (): void => undefined;
  return router.subscribe('onRendered', ({ toLocation, pathChanged, hashChanged }) => {
    const titled = router.state.matches.findLast((match) => match.staticData.title !== undefined);
    document.title = windowTitle(titled?.staticData.title);
    const moved = !first && (pathChanged || hashChanged);
    first = false;
    if (!moved) return;
    stopWaiting();
    stopWaiting = focusWhenThere(() =>
      toLocation.hash
        ? document.getElementById(toLocation.hash)
        : document.querySelector('main h1'),
    );
  });
}

/**
 * Focuses what `find` returns, at once or when a loading page shows it, unless the user has moved
 * the focus meanwhile. Returns the function that cancels it.
 */
function focusWhenThere(find: () => Element | null): () => void {
  if (focus(find())) return () => undefined;
  const before = document.activeElement;
  const observer = new MutationObserver(() => {
    const now = document.activeElement;
    if ((now !== before && now !== document.body) || focus(find())) stop();
  });
  const timer = setTimeout(() => stop(), headingWaitMs);
  const stop = (): void => {
    observer.disconnect();
    clearTimeout(timer);
  };
  observer.observe(document.body, { childList: true, subtree: true });
  return stop;
}

function focus(target: Element | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  target.tabIndex = -1;
  target.focus({ preventScroll: true });
  return true;
}
