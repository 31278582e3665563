/**
 * Every component in every state, on one page of the development server: `/gallery`. It is an entry
 * of its own and no route, so the build of the application never sees it.
 */
import {
  createMemoryHistory,
  createRootRoute,
  createRouter,
  RouterProvider,
} from '@tanstack/react-router';
import { createRoot } from 'react-dom/client';
import { showTheme } from '#web/features/shell/theme.ts';
import { Gallery } from './gallery.tsx';

const container = document.getElementById('app');
if (!container) throw new Error('The page has no #app');
showTheme();
createRoot(container).render(
  <RouterProvider
    router={createRouter({
      routeTree: createRootRoute({ component: Gallery }),
      history: createMemoryHistory(),
    })}
  />,
);
