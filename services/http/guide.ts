import { readFile } from 'node:fs/promises';
import type { ReactNode } from 'react';
import { escapeHtml } from '#services/platform/http/html.ts';

/** The HTML of a file of `docs`, with an anchor for each heading. */
export async function guideContent(text: string): Promise<string> {
  // Loaded here, because only such pages need it.
  const [{ createElement }, { renderToStaticMarkup }, { default: Markdown }, { default: gfm }] =
    await Promise.all([
      import('react'),
      import('react-dom/server'),
      import('react-markdown'),
      import('remark-gfm'),
    ]);
  // Wide content scrolls sideways in its own box, also by keyboard.
  const wide = (name: string, inside: ReactNode) =>
    createElement('div', { role: 'group', 'aria-label': name, tabIndex: 0 }, inside);
  const withAddress = (tag: 'h2' | 'h3') => (heading: { children?: ReactNode }) =>
    createElement(tag, { id: addressOf(heading.children) }, heading.children);
  const components = {
    h2: withAddress('h2'),
    h3: withAddress('h3'),
    table: ({ children }: { children?: ReactNode }) =>
      wide('Table', createElement('table', null, children)),
    pre: ({ children }: { children?: ReactNode }) =>
      wide('Example', createElement('pre', null, children)),
    th: ({ children }: { children?: ReactNode }) =>
      isEmpty(children) ? createElement('td') : createElement('th', { scope: 'col' }, children),
    // Other files of the repository are not served.
    a: ({ href, children }: { href?: string | undefined; children?: ReactNode }) =>
      href !== undefined && /^(?:https:|mailto:|#|\/)/.test(href)
        ? createElement('a', { href }, children)
        : createElement('span', null, children),
  };
  return renderToStaticMarkup(
    createElement(Markdown, { remarkPlugins: [gfm], skipHtml: true, components }, text),
  );
}

/**
 * A file of `docs` as a page beside the API description, for what that has no place for.
 *
 * @throws Error when the file cannot be read
 */
export async function guidePage(
  name: 'live' | 'programs',
  { productName }: { productName: string },
): Promise<string> {
  const text = await readFile(new URL(`../../docs/${name}.md`, import.meta.url), 'utf8');
  const content = await guideContent(text);
  const title = /^# (.+)$/m.exec(text)?.[1] ?? 'Live';
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="robots" content="noindex" />
    <title>${escapeHtml(title)} · ${escapeHtml(productName)}</title>
    <link rel="stylesheet" href="/api-docs/pages.css" />
  </head>
  <body class="guide">
    <nav aria-label="API">
      <a href="/api-docs">All calls</a>
      <a href="/api/openapi.json">OpenAPI description</a>
    </nav>
    <main>${content}</main>
  </body>
</html>
`;
}

/** Styles of our own pages; the viewer brings its own. */
export const pageStyle = `:root:has(.guide) { color-scheme: light dark; }
.top {
  padding: 16px 20px 0; max-width: 1460px; margin: 0 auto; font: 16px/1.5 system-ui, sans-serif;
}
.top a { color: #0b6b5d; text-decoration: underline; }
.dark-mode .top a { color: #62c9b1; }
.guide {
  margin: 0 auto; padding: 24px 20px 64px; max-width: 60rem; overflow-wrap: break-word;
  background: light-dark(#f8f6f0, #0f1718); color: light-dark(#17211f, #e9efea);
  font: 16px/1.6 system-ui, sans-serif;
}
.guide nav { display: flex; flex-wrap: wrap; gap: 8px 24px; margin-bottom: 32px; }
.guide nav a { padding: 4px 0; }
.guide a { color: light-dark(#0b6b5d, #62c9b1); text-underline-offset: 3px; }
.guide h1 { font-size: 1.875rem; line-height: 1.2; margin: 0 0 16px; }
.guide h2 { font-size: 1.5rem; line-height: 1.25; margin: 48px 0 12px; }
.guide h3 { font-size: 1.25rem; line-height: 1.4; margin: 32px 0 8px; }
.guide :is(p, ul, ol) { max-width: 46rem; }
.guide [role='group'] { overflow-x: auto; margin: 16px 0; }
.guide :focus-visible { outline: 2px solid light-dark(#0b6b5d, #62c9b1); outline-offset: 2px; }
.guide table { border-collapse: collapse; font-size: 0.9375rem; min-width: 100%; }
.guide th, .guide td {
  border-bottom: 1px solid light-dark(#d9d4c6, #2a3738); padding: 8px 16px 8px 0;
  text-align: left; vertical-align: top; overflow-wrap: normal;
}
.guide code { font: 0.875em/1.5 ui-monospace, Menlo, Consolas, monospace; }
.guide :not(pre) > code {
  background: light-dark(#efece3, #1c2829); border-radius: 4px; padding: 1px 4px;
}
.guide pre {
  background: light-dark(#efece3, #0b1213); border-radius: 8px; padding: 16px; margin: 0;
  white-space: pre-wrap; overflow-wrap: anywhere;
}
`;

/** The anchor of a plain-text heading; other headings have none. */
export function addressOf(heading: ReactNode): string | undefined {
  if (typeof heading !== 'string') return undefined;
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, '-')
    .replace(/^-|-$/g, '');
}

function isEmpty(children: ReactNode): boolean {
  return children === undefined || children === null || children === '';
}
