/**
 * Every component in every state, on the development server's `/gallery`. It is a separate entry
 * and no route, so it is never part of the build.
 */
import {
  createMemoryHistory,
  createRootRoute,
  createRouter,
  RouterProvider,
} from '@tanstack/react-router';
import { createRoot } from 'react-dom/client';
import { showDisplay } from '#web/ui/display.ts';
import { Gallery } from './gallery.tsx';

const container = document.getElementById('app');
if (!container) throw new Error('The page has no #app');
showDisplay('theme');
createRoot(container).render(
  <RouterProvider
    router={createRouter({
      routeTree: createRootRoute({ component: Gallery }),
      history: createMemoryHistory(),
    })}
  />,
);
