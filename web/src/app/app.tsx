import { RouterProvider } from '@tanstack/react-router';
import { type ReactNode, StrictMode } from 'react';
import type { AppRouter } from './router.tsx';

/** The whole page, the same in the browser and when it is prerendered. */
export function App({ router }: { router: AppRouter }): ReactNode {
  return (
    <StrictMode>
      <RouterProvider router={router} />
    </StrictMode>
  );
}
