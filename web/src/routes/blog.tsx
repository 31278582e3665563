import { createFileRoute, Link } from '@tanstack/react-router';
import { posts } from '#web/features/site/posts.ts';
import { PostsPage } from '#web/features/site/posts-page.tsx';

export const Route = createFileRoute('/blog')({
  component: () => (
    <PostsPage
      title="Blog"
      posts={posts}
      empty={
        <>
          There are no posts yet. What the product does and why is on{' '}
          <Link to="/about" className="link">
            the about page
          </Link>
          .
        </>
      }
    />
  ),
  staticData: {
    title: 'Blog',
    description: 'What we write about decisions and the models behind them.',
    prerender: true,
    noindex: import.meta.env.HAS_POSTS !== true,
  },
});
