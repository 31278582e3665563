import { createFileRoute } from '@tanstack/react-router';
import { Terms } from '#web/features/legal/terms.tsx';

export const Route = createFileRoute('/terms')({
  component: Terms,
  staticData: {
    title: 'Terms of Service',
    description: 'What you can count on: credits, failed runs, refunds, changes.',
    prerender: true,
  },
});
