import { createFileRoute } from '@tanstack/react-router';
import { lazy, type ReactNode, Suspense } from 'react';

/** The text is in the page as sent; its file is loaded after the first paint. */
const Text = lazy(() =>
  import('#web/features/site/method-page.tsx').then((module) => ({ default: module.MethodPage })),
);

const page: ReactNode = (
  <Suspense>
    <Text />
  </Suspense>
);

export const Route = createFileRoute('/method')({
  component: () => page,
  staticData: {
    title: 'Method',
    description: 'How models vote, how agreement is computed, and what it cannot say.',
    prerender: true,
  },
});
