import type { ReactNode } from 'react';

export function EmptyState({
  children,
  action,
}: {
  children: ReactNode;
  action?: ReactNode;
}): ReactNode {
  return (
    <div className="flex flex-col items-start gap-4 rounded-card border border-dashed border-line-strong p-4 sm:p-6">
      <p className="text-ink-2">{children}</p>
      {action}
    </div>
  );
}
