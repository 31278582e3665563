import { type ReactNode, useId } from 'react';
import { Card } from '#web/ui/card.tsx';

export function Panel({
  title,
  part,
  aside,
  children,
}: {
  title: string;
  /** Marks the panel for what looks for it in the page. */
  part?: string;
  aside?: ReactNode;
  children: ReactNode;
}): ReactNode {
  const id = useId();
  return (
    <Card aria-labelledby={id} data-part={part} className="sm:p-5">
      <div className="mb-3 flex min-h-11 flex-wrap items-center justify-between gap-3">
        <h2 id={id} className="min-w-0 text-xl">
          {title}
        </h2>
        {aside}
      </div>
      {children}
    </Card>
  );
}
