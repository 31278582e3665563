import { type ReactNode, useId } from 'react';
import { Card } from '#web/ui/card.tsx';

/** One part of the account: description left, controls right; below each other on phones. */
export function Section({
  id: anchor,
  title,
  about,
  children,
}: {
  /** For links to it. */
  id?: string;
  title: string;
  /** What a change here does, in a sentence or two. */
  about?: ReactNode;
  children: ReactNode;
}): ReactNode {
  const id = useId();
  return (
    <Card
      id={anchor}
      aria-labelledby={id}
      className="grid grid-cols-1 gap-x-8 gap-y-4 scroll-mt-6 lg:grid-cols-3"
    >
      <div className="space-y-2">
        <h2 id={id} tabIndex={-1} className="text-2xl">
          {title}
        </h2>
        {about === undefined ? null : <div className="text-sm text-ink-2">{about}</div>}
      </div>
      <div className="min-w-0 space-y-5 lg:col-span-2 lg:max-w-prose">{children}</div>
    </Card>
  );
}
