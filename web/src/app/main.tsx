import { createRoot, hydrateRoot } from 'react-dom/client';
import { App } from './app.tsx';
import { leaveArrivalBehind, takeArrival } from '#web/features/identity/sessions/arrival.ts';
import { connectSession } from '#web/features/identity/sessions/session.ts';
import { showTheme } from '#web/features/shell/theme.ts';
import { followPageViews } from './page-view.ts';
import { createAppRouter } from './router.tsx';

/**
 * A prerendered page already shows what the router is about to render. It is taken over as it
 * stands, so that nothing flickers and nothing typed meanwhile is lost: the route's code is loaded
 * first, and the router is told that its first render continues a server's.
 *
 * A function and not top-level awaits: the route's code imports from this chunk, and would wait for
 * it to finish while it waits for the route.
 */
async function start(): Promise<void> {
  // Before anything else, so that nothing here ever sees an address with a secret in it.
  takeArrival();
  // A link that is pasted into this tab changes only the fragment and loads no page; heard before the
  // router hears it.
  window.addEventListener('popstate', takeArrival);
  const container = document.getElementById('app');
  if (!container) throw new Error('The page has no #app');
  showTheme();
  const router = createAppRouter();
  followPageViews(router);
  router.subscribe('onResolved', ({ toLocation }) => leaveArrivalBehind(toLocation.pathname));
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
