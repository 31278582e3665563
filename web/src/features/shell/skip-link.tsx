import type { ReactNode } from 'react';

/** The first stop of the Tab key: skips the navigation. */
export function SkipLink(): ReactNode {
  return (
    <a
      href="#main"
      className="sr-only z-50 rounded-control bg-accent px-4 py-3 font-medium text-on-accent focus:not-sr-only focus:absolute focus:start-4 focus:top-2"
    >
      Skip to content
    </a>
  );
}
