import { type ReactNode, useId } from 'react';
import { Card } from '#web/ui/card.tsx';

export function Panel({
  title,
  aside,
  children,
}: {
  title: string;
  aside?: ReactNode;
  children: ReactNode;
}): ReactNode {
  const id = useId();
  return (
    <Card aria-labelledby={id} className="sm:p-5">
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
