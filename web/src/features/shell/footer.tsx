import { Link, type LinkProps } from '@tanstack/react-router';
import { type ReactNode, useSyncExternalStore } from 'react';
import { contactEmail, productName, socialLinks } from '#web/app/product.ts';
import { openSettings } from '#web/consent/banner.ts';
import { ThemeSwitch } from './theme-switch.tsx';

const entry = 'inline-flex min-h-11 items-center text-ink-2 hover:text-ink hover:underline';

type Entry = readonly [
  name: string,
  to: NonNullable<LinkProps['to']> | '/api-docs',
  place?: Partial<LinkProps>,
];

const columns: readonly (readonly [title: string, entries: readonly Entry[]])[] = [
  [
    'Product',
    [
      ['Features', '/', { hash: 'features' }],
      ['Pricing', '/', { hash: 'pricing' }],
      ['How we score agreement', '/method'],
      ['Opportunity Patterns', '/recipes'],
      ['API', '/api-docs'],
    ],
  ],
  [
    'Company',
    [
      ['About', '/about'],
      ...(import.meta.env.HAS_POSTS ? [['Blog', '/blog'] as const] : []),
      ...(import.meta.env.HAS_POSITIONS ? [['Careers', '/careers'] as const] : []),
      ['Terms of Service', '/terms'],
      ['Privacy Policy', '/privacy'],
      ['Cookies', '/cookies'],
    ],
  ],
  [
    'Support',
    [
      ['Help', '/help'],
      ['Support', '/contact', { search: { topic: 'support' } }],
      ['Contact', '/contact'],
      ['Security', '/security'],
    ],
  ],
];

export function Footer(): ReactNode {
  const year = useYear();
  return (
    <footer className="mt-24 border-t border-line print:hidden">
      <div className="mx-auto grid grid-cols-1 max-w-page gap-x-6 gap-y-8 px-4 py-10 sm:grid-cols-2 sm:px-6 lg:grid-cols-4">
        <div className="space-y-2 lg:pe-8">
          <p className="font-semibold">{productName}</p>
          <p className="text-ink-2">
            One business question, seven or more AI models, and one recommendation that shows who
            agreed, who didn't, and what it cost.
          </p>
          {contactEmail ? (
            <a href={`mailto:${contactEmail}`} className={entry}>
              {contactEmail}
            </a>
          ) : null}
          {socialLinks ? (
            <ul aria-label="Elsewhere" className="flex flex-wrap gap-x-4">
              {socialLinks.map((url) => (
                <li key={url}>
                  <a href={url} rel="me noopener" className={entry}>
                    {new URL(url).host.replace(/^www\./, '')}
                  </a>
                </li>
              ))}
            </ul>
          ) : null}
        </div>
        {columns.map(([title, entries]) => (
          <div key={title}>
            <p className="text-sm font-semibold text-ink-3">{title}</p>
            <ul>
              {entries.map(([name, to, place]) => (
                <li key={name}>
                  {to === '/api-docs' ? (
                    // Another application than this one.
                    <a href={to} className={entry}>
                      {name}
                    </a>
                  ) : (
                    <Link to={to} {...place} className={entry}>
                      {name}
                    </Link>
                  )}
                </li>
              ))}
            </ul>
          </div>
        ))}
      </div>
      <div className="border-t border-line">
        <div className="mx-auto flex max-w-page flex-wrap items-center justify-between gap-4 px-4 py-4 sm:px-6">
          <div className="flex flex-wrap items-center gap-x-6">
            <p className="text-sm text-ink-3">
              © {year} {productName}
            </p>
            <button type="button" onClick={openSettings} className={entry}>
              Cookie Settings
            </button>
          </div>
          <ThemeSwitch />
        </div>
      </div>
    </footer>
  );
}

/** That of the build in prerendered markup, afterwards the current one. */
function useYear(): number | undefined {
  return useSyncExternalStore(
    () => () => undefined,
    () => new Date().getFullYear(),
    () => import.meta.env.BUILD_YEAR,
  );
}
