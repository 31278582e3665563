import { RouterProvider } from '@tanstack/react-router';
import { type ReactNode, StrictMode } from 'react';
import type { AppRouter } from './router.tsx';

export function App({ router }: { router: AppRouter }): ReactNode {
  return (
    <StrictMode>
      <RouterProvider router={router} />
    </StrictMode>
  );
}
