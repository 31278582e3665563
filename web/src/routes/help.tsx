import { createFileRoute } from '@tanstack/react-router';
import { HelpPage } from '#web/features/site/help-page.tsx';

export const Route = createFileRoute('/help')({
  component: HelpPage,
  staticData: {
    title: 'Help',
    description: 'Answers about runs, results, credits, refunds, plans, files and your privacy.',
    prerender: true,
  },
});
