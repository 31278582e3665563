import type { ReactNode } from 'react';
import { dayInWords } from '#services/platform/locale.ts';
import type { Post } from './posts.ts';

/** Posts or positions, newest first, or one sentence that there are none. */
export function PostsPage({
  title,
  posts,
  empty,
}: {
  title: string;
  posts: readonly Post[];
  empty: ReactNode;
}): ReactNode {
  return (
    <div className="mx-auto max-w-page space-y-10 px-4 pt-8 sm:px-6 lg:pt-12">
      <h1 className="text-4xl">{title}</h1>
      {posts.length === 0 ? <p className="max-w-prose text-lg text-ink-2">{empty}</p> : null}
      {posts
        .toSorted((one, other) => other.date.localeCompare(one.date))
        .map(({ id, title: name, date, html }) => (
          <article key={id} aria-labelledby={id} className="space-y-3">
            <h2 id={id} className="text-2xl">
              {name}
            </h2>
            <p className="text-sm text-ink-3">
              <time dateTime={date}>{dayInWords(date)}</time>
            </p>
            <div className="prose" dangerouslySetInnerHTML={{ __html: html }} />
          </article>
        ))}
    </div>
  );
}
