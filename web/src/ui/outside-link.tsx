import { ExternalLink } from 'lucide-react';
import type { ReactNode } from 'react';

/** A link to another site, in a new window without an opener. Only web addresses are linked. */
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
      <span className="sr-only">(opens in a new tab)</span>
    </a>
  );
}
