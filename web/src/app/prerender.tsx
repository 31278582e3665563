import { createMemoryHistory, type StaticDataRouteOption } from '@tanstack/react-router';
import { renderToStaticMarkup } from 'react-dom/server';
import { prerender } from 'react-dom/static';
import { App } from './app.tsx';
import { consentVersion } from '#web/consent/consent.ts';
import { choicePattern } from '#web/consent/cookie.ts';
import { PendingBar } from '#web/features/shell/top-bar.tsx';
import { PagePending } from './page-pending.tsx';
import { createAppRouter } from './router.tsx';
import { productName, windowTitle } from './product.ts';

/** Renders pages to text during the build; runs in Node only. */
export type RenderedPage = {
  html: string;
  title: string;
  description: string | undefined;
  indexed: boolean;
};

export async function renderPage(path: string): Promise<RenderedPage> {
  const router = createAppRouter(createMemoryHistory({ initialEntries: [path] }));
  await router.load();
  const { prelude } = await prerender(<App router={router} />, {
    // A part that arrives late would be put in its place by an inline script.
    progressiveChunkSize: Number.POSITIVE_INFINITY,
  });
  const html = await new Response(prelude).text();
  const data = router.state.matches.map((match) => match.staticData);
  return {
    html,
    title: windowTitle(data.findLast(({ title }) => title !== undefined)?.title),
    description: data.findLast(({ description }) => description !== undefined)?.description,
    indexed: !data.some(({ noindex }) => noindex === true),
  };
}

/** By which the server knows who has chosen. */
export const consent = { choice: choicePattern(consentVersion) };

/** What a signed-in page shows before its script runs. */
export function renderShell(): RenderedPage {
  return {
    html: renderToStaticMarkup(
      <>
        <PendingBar />
        <main id="main">
          <PagePending words={`Loading ${productName}...`} />
        </main>
      </>,
    ),
    title: windowTitle(undefined),
    description: undefined,
    indexed: false,
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
