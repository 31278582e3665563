import { createRouter, type RouterHistory } from '@tanstack/react-router';
import { PageProblem } from './page-problem.tsx';
import { PagePending } from './page-pending.tsx';
import { routeTree } from './route-tree.gen.ts';

/**
 * The router of one page view. In the browser it reads the address bar; the prerenderer passes its
 * own history.
 */
export function createAppRouter(history?: RouterHistory) {
  return createRouter({
    routeTree,
    ...(history ? { history } : {}),
    // Otherwise the server would write a script into the page, which the content policy forbids.
    scrollRestoration: typeof document !== 'undefined',
    defaultPreload: 'intent',
    defaultPendingMs: 150,
    defaultPendingMinMs: 300,
    defaultPendingComponent: PagePending,
    defaultErrorComponent: PageProblem,
  });
}

export type AppRouter = ReturnType<typeof createAppRouter>;

declare module '@tanstack/react-router' {
  interface Register {
    router: AppRouter;
  }
  interface StaticDataRouteOption {
    /** The page's name in the window title. */
    title?: string;
    /** For search engines and previews. */
    description?: string;
    /** Rendered to a file by the build. Public pages only. */
    prerender?: true;
    /** A prerendered page that search engines leave out. */
    noindex?: boolean;
  }
}
