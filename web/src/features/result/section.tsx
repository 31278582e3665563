import { type ReactNode, useId } from 'react';

/** A part of the page under its heading; with an `id` it can be linked to. */
export function Section({
  id,
  title,
  children,
}: {
  id?: string;
  title: string;
  children: ReactNode;
}): ReactNode {
  const own = useId();
  return (
    <section id={id} aria-labelledby={own} className="space-y-3">
      <h2 id={own} className="text-2xl">
        {title}
      </h2>
      {children}
    </section>
  );
}

/** A part of a section. */
export function Part({ title, children }: { title: string; children: ReactNode }): ReactNode {
  const id = useId();
  return (
    <section aria-labelledby={id} className="space-y-3">
      <h3 id={id} className="text-lg font-semibold">
        {title}
      </h3>
      {children}
    </section>
  );
}
