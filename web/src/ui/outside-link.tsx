import { ExternalLink } from 'lucide-react';
import type { ReactNode } from 'react';

/**
 * A link to a page of somebody else, in a window of its own that knows nothing of this one. An address
 * that is no web address is not linked.
 */
export function OutsideLink({ href, children }: { href: string; children: ReactNode }): ReactNode {
  if (!/^https?:\/\//i.test(href)) return null;
  return (
    <a
      href={href}
      target="_blank"
      rel="noopener noreferrer"
      className="link inline-flex min-h-6 items-center gap-1"
    >
      {children}
      <ExternalLink size={16} aria-hidden="true" className="shrink-0 print:hidden" />
      <span className="sr-only">(opens in a new window)</span>
    </a>
  );
}
