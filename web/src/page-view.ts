import type { AppRouter } from './router.tsx';
import { productName } from './product.ts';

/** "Login · Sevenfold"; the home page, which has no name, is the product itself. */
export function windowTitle(title: string | undefined): string {
  return title
    ? `${title} · ${productName}`
    : `${productName}: one question, seven or more AI models`;
}

/**
 * After each change of page: the window's title, and the focus on the new page's heading, so that a
 * screen reader starts there. A link to a part of a page focuses that part. The first page keeps the
 * browser's own focus. Answers the function that stops.
 */
export function followPageViews(router: AppRouter): () => void {
  let first = true;
  return router.subscribe('onRendered', ({ toLocation, pathChanged, hashChanged }) => {
    const titled = router.state.matches.findLast((match) => match.staticData.title !== undefined);
    document.title = windowTitle(titled?.staticData.title);
    const moved = !first && (pathChanged || hashChanged);
    first = false;
    if (!moved) return;
    const target = toLocation.hash
      ? document.getElementById(toLocation.hash)
      : document.querySelector('main h1');
    if (target instanceof HTMLElement) {
      target.tabIndex = -1;
      target.focus({ preventScroll: true });
    }
  });
}
