import type { ReactNode } from 'react';

/** The page of an address that leads to nothing the user may see. */
export function NotFound({
  sentence,
  actions,
}: {
  sentence: string;
  actions: ReactNode;
}): ReactNode {
  return (
    <div className="mx-auto max-w-page space-y-4 px-4 pt-8 sm:px-6">
      <h1 className="text-4xl">We can't find that page</h1>
      <p className="max-w-prose text-ink-2">{sentence}</p>
      <div className="flex flex-wrap gap-3">{actions}</div>
    </div>
  );
}
