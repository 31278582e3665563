import { createFileRoute } from '@tanstack/react-router';
import html from '#content/pages/about.md';
import { Article } from '#web/features/site/article.tsx';

export const Route = createFileRoute('/about')({
  component: () => <Article html={html} />,
  staticData: {
    title: 'About',
    description: 'What this service does, what it holds to, and who runs it.',
    prerender: true,
  },
});
