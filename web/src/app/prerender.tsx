import { createMemoryHistory, type StaticDataRouteOption } from '@tanstack/react-router';
import { renderToStaticMarkup, renderToString } from 'react-dom/server';
import { App } from './app.tsx';
import { WaitingBar } from '#web/features/shell/top-bar.tsx';
import { PagePending } from './page-pending.tsx';
import { createAppRouter } from './router.tsx';
import { windowTitle } from './product.ts';

/** Renders pages to text during the build; runs in Node only. */
export type RenderedPage = { html: string; title: string; description: string | undefined };

export async function renderPage(path: string): Promise<RenderedPage> {
  const router = createAppRouter(createMemoryHistory({ initialEntries: [path] }));
  await router.load();
  const html = renderToString(<App router={router} />);
  const data = router.state.matches.map((match) => match.staticData);
  return {
    html,
    title: windowTitle(data.findLast(({ title }) => title !== undefined)?.title),
    description: data.findLast(({ description }) => description !== undefined)?.description,
  };
}

/** What a signed-in page shows before its script runs. */
export function renderShell(): RenderedPage {
  return {
    html: renderToStaticMarkup(
      <>
        <WaitingBar />
        <main id="main">
          <PagePending />
        </main>
      </>,
    ),
    title: windowTitle(undefined),
    description: undefined,
  };
}

/** The catch-all route. The server sends it with status 404. */
const missing = '/$';

/** Every path of the application, by what the server sends for it. */
export function listPaths(): { prerendered: string[]; application: string[] } {
  const { routesByPath } = createAppRouter(createMemoryHistory());
  const prerendered: string[] = [];
  const application: string[] = [];
  for (const path of Object.keys(routesByPath) as (keyof typeof routesByPath)[]) {
    if (path === missing) continue;
    const data: StaticDataRouteOption = routesByPath[path].options.staticData ?? {};
    (data.prerender ? prerendered : application).push(path);
  }
  return { prerendered, application };
}
