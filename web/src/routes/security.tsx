import { createFileRoute } from '@tanstack/react-router';
import html from '#content/pages/security.md';
import { Article } from '#web/features/site/article.tsx';

export const Route = createFileRoute('/security')({
  component: () => <Article html={html} />,
  staticData: {
    title: 'Security',
    description: 'How your text, account and payments are protected, and how to report a problem.',
    prerender: true,
  },
});
