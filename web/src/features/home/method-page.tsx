import type { ReactNode } from 'react';
import content from '#docs/method.md';

/** `docs/method.md`, which is compiled to HTML by the build. */
export function MethodPage(): ReactNode {
  return (
    <div className="mx-auto max-w-page px-4 pt-8 sm:px-6 lg:pt-12">
      <div className="prose" dangerouslySetInnerHTML={{ __html: content }} />
    </div>
  );
}
