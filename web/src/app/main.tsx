import { createRoot, hydrateRoot } from 'react-dom/client';
import { App } from './app.tsx';
import { leaveArrivalBehind, takeArrival } from '#web/features/identity/sessions/arrival.ts';
import { connectSession } from '#web/features/identity/sessions/session.ts';
import { connectBanner, loadAnalytics } from '#web/consent/banner.ts';
import { showDisplay } from '#web/ui/display.ts';
import { followPageViews } from './page-view.ts';
import { createAppRouter } from './router.tsx';

/**
 * A prerendered page is hydrated as it stands, so that nothing flickers and no typed text is lost.
 * The route's code is loaded first, and the router is marked as continuing a server render.
 *
 * A function and not top-level awaits: the route's code imports from this chunk, so both would wait
 * for each other.
 */
async function start(): Promise<void> {
  // First of all, so that no other code ever sees an address with a secret in it.
  takeArrival();
  // A link pasted into this tab changes only the fragment and loads no page. This listener must run
  // before the router's.
  window.addEventListener('popstate', takeArrival);
  const container = document.getElementById('app');
  if (!container) throw new Error('The page has no #app');
  showDisplay('theme');
  connectBanner();
  const router = createAppRouter();
  followPageViews(router);
  router.subscribe('onResolved', ({ toLocation }) => {
    leaveArrivalBehind(toLocation.pathname);
    loadAnalytics();
  });
  const { page } = container.dataset;
  if (page === location.pathname || page === 'not-found') {
    router.ssr = { manifest: undefined };
    await router.load();
    hydrateRoot(container, <App router={router} />);
  } else {
    createRoot(container).render(<App router={router} />);
  }
  connectSession();
}

void start();
