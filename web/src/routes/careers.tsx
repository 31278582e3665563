import { createFileRoute, Link } from '@tanstack/react-router';
import { positions } from '#web/features/site/posts.ts';
import { PostsPage } from '#web/features/site/posts-page.tsx';

export const Route = createFileRoute('/careers')({
  component: () => (
    <PostsPage
      title="Careers"
      posts={positions}
      empty={
        <>
          There are no open positions right now. You can still{' '}
          <Link to="/contact" className="link">
            write to us
          </Link>
          .
        </>
      }
    />
  ),
  staticData: {
    title: 'Careers',
    description: 'Open positions, and how to write to us.',
    prerender: true,
    noindex: import.meta.env.HAS_POSITIONS !== true,
  },
});
