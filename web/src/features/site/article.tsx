import type { ReactNode } from 'react';

/** A page of `content/pages`, which is compiled to HTML by the build. */
export function Article({ html }: { html: string }): ReactNode {
  return (
    <div className="mx-auto max-w-page px-4 pt-8 sm:px-6 lg:pt-12">
      <div className="prose" dangerouslySetInnerHTML={{ __html: html }} />
    </div>
  );
}
