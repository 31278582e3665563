import type { ReactNode } from 'react';
import { windowTitle } from '#web/app/product.ts';
import { LinkButton } from '#web/ui/form/button.tsx';
import { useWindowTitle } from '#web/ui/use-window-title.ts';

const title = "This link doesn't work";

/** The same for every such link, whatever became of it. */
export function NoSuchLink(): ReactNode {
  useWindowTitle(windowTitle(title));
  return (
    <div className="mx-auto max-w-page space-y-4 px-4 pt-8 sm:px-6">
      <h1 className="text-4xl">{title}</h1>
      <p className="max-w-prose text-ink-2">
        The address may be incomplete, the link may have expired or been revoked, or its result was
        deleted.
      </p>
      <LinkButton to="/">Home</LinkButton>
    </div>
  );
}
