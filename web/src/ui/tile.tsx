import type { ReactNode } from 'react';

/** A figure and its label. Several form a `TileRow`. */
export function Tile({
  label,
  value,
  detail,
}: {
  label: string;
  value: ReactNode;
  detail?: ReactNode;
}): ReactNode {
  return (
    <div className="flex min-w-0 flex-col">
      <dt className="text-sm text-ink-3">{label}</dt>
      <dd className="text-2xl font-semibold">{value}</dd>
      {detail === undefined ? null : <dd className="text-sm text-ink-2">{detail}</dd>}
    </div>
  );
}

export function TileRow({ children }: { children: ReactNode }): ReactNode {
  return <dl className="grid grid-cols-2 gap-4 lg:flex lg:flex-wrap lg:gap-x-10">{children}</dl>;
}
