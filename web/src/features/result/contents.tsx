import type { ReactNode } from 'react';
import { Section } from './section.tsx';

/** A part of the page as its list of contents names it. */
export type Entry = { readonly id: string; readonly title: string; readonly body: ReactNode };

/** One part of the page as a list; empty where it has nothing to say. */
export function entry(id: string, title: string, body: ReactNode, isShown = true): Entry[] {
  return isShown ? [{ id, title, body }] : [];
}

/** The parts below each other; beside them, where a screen is wide enough, the list of them. */
export function WithContents({
  top,
  entries,
}: {
  top: ReactNode;
  entries: readonly Entry[];
}): ReactNode {
  return (
    <div className="gap-10 min-[75rem]:grid min-[75rem]:grid-cols-[minmax(0,1fr)_12rem] print:block">
      <div className="min-w-0 space-y-10">
        {top}
        {entries.map(({ id, title, body }) => (
          <Section key={id} id={id} title={title}>
            {body}
          </Section>
        ))}
      </div>
      <nav
        aria-label="Contents"
        className="sticky top-6 hidden self-start min-[75rem]:block print:hidden"
      >
        <ul className="border-s border-line text-sm">
          {entries.map(({ id, title }) => (
            <li key={id}>
              <a
                href={`#${id}`}
                className="block py-1.5 ps-4 text-ink-2 hover:text-ink hover:underline"
              >
                {title}
              </a>
            </li>
          ))}
        </ul>
      </nav>
    </div>
  );
}
