import { createFileRoute } from '@tanstack/react-router';
import { MethodPage } from '#web/features/home/method-page.tsx';

export const Route = createFileRoute('/method')({
  component: MethodPage,
  staticData: {
    title: 'Method',
    description: 'How models vote, how agreement is computed, and what it cannot say.',
    prerender: true,
  },
});
