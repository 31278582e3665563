import type { ReactNode } from 'react';

export const claimAnchor = (id: string): string => `claim-${id}`;

/** The claims a statement rests on, as links. */
export function Cites({ ids }: { ids: readonly string[] }): ReactNode {
  if (ids.length === 0) return null;
  return (
    <p className="mt-1 flex flex-wrap gap-x-3 text-sm text-ink-3">
      <span className="sr-only">Claims: </span>
      {ids.map((id) => (
        <a key={id} href={`#${claimAnchor(id)}`} className="link inline-flex min-h-6 items-center">
          {id}
        </a>
      ))}
    </p>
  );
}
