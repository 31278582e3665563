/** A file of `content/blog` or `content/careers`, compiled by the build (`web/documents.ts`). */
export type Post = {
  id: string;
  title: string;
  /** Such as 2026-11-20. */
  date: string;
  html: string;
};

export const posts: readonly Post[] = Object.values(
  import.meta.glob<Post>('/content/blog/*.md', { eager: true, import: 'default' }),
);
export const positions: readonly Post[] = Object.values(
  import.meta.glob<Post>('/content/careers/*.md', { eager: true, import: 'default' }),
);
