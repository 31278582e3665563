import { createFileRoute } from '@tanstack/react-router';
import { Privacy } from '#web/features/legal/privacy.tsx';

export const Route = createFileRoute('/privacy')({
  component: Privacy,
  staticData: {
    title: 'Privacy Policy',
    description: 'Which data we keep, what model providers receive, and your rights.',
    prerender: true,
  },
});
