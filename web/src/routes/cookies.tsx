import { createFileRoute } from '@tanstack/react-router';
import { CookiesPage } from '#web/features/site/cookies-page.tsx';

export const Route = createFileRoute('/cookies')({
  component: CookiesPage,
  staticData: {
    title: 'Cookies',
    description: 'Every cookie and key that this site keeps in your browser, and why.',
    prerender: true,
  },
});
