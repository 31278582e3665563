import { createHash } from 'node:crypto';
import type { Context } from 'hono';
import { html, raw } from 'hono/html';
import type { HtmlEscapedString } from 'hono/utils/html';

export type Html = HtmlEscapedString | Promise<HtmlEscapedString>;

/** The frame of every page under /dev: no script, nothing loaded, one style. */
export type PageFrame = {
  document(title: string, main: Html): Html;
  /** `formOrigins`: where a form of the page may lead besides back to us. */
  headers(formOrigins?: readonly string[]): Record<string, string>;
};

const tokens = `
:root { color-scheme: light dark; --paper: light-dark(#f8f6f0, #0f1718);
  --surface: light-dark(#fffefb, #151f20); --sunken: light-dark(#efece3, #0b1213);
  --line: light-dark(#d9d4c6, #2a3738); --strong: light-dark(#8b8675, #647576);
  --ink: light-dark(#17211f, #e9efea); --ink-2: light-dark(#46534f, #b3c0bb);
  --accent: light-dark(#0b6b5d, #62c9b1); --on-accent: light-dark(#ffffff, #06231e);
  --bad: light-dark(#b3372b, #f08a7c); --warn: light-dark(#9a5b00, #e3a54a); }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 1rem/1.5 system-ui, sans-serif; }
main { max-width: 60rem; margin: 0 auto; padding: 2rem 1rem 4rem; }
h1 { margin: 0 0 1rem; font-size: 1.875rem; line-height: 1.2; overflow-wrap: anywhere; }
h2 { margin: 2rem 0 .5rem; font-size: 1.25rem; }
a { color: var(--accent); overflow-wrap: anywhere; }
input, select, button { min-height: 2.75rem; padding: 0 .875rem; border-radius: 8px; font: inherit; }
input, select { border: 1px solid var(--strong); background: var(--surface); color: inherit; }
button { border: 0; background: var(--accent); color: var(--on-accent); font-weight: 600; cursor: pointer; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1rem; margin: 0; }
dt, time { color: var(--ink-2); }
dd { margin: 0; overflow-wrap: anywhere; }
.empty { padding: 2rem; border: 1px dashed var(--strong); border-radius: 10px; color: var(--ink-2);
  text-align: center; overflow-wrap: anywhere; }
`;

export function createPageFrame(ownStyle: string): PageFrame {
  const style = tokens + ownStyle;
  // Exactly as its hash in the policy has it.
  const element = raw(`<style>${style}</style>`);
  const hash = createHash('sha256').update(style).digest('base64');
  return {
    document: (title, main) =>
      html`<!doctype html>
        <html lang="en">
          <head>
            <meta charset="utf-8" />
            <meta name="viewport" content="width=device-width, initial-scale=1" />
            <meta name="color-scheme" content="light dark" />
            <title>${title}</title>
            ${element}
          </head>
          <body>
            <main>${main}</main>
          </body>
        </html> `,
    headers: (formOrigins = []) => ({
      'Cache-Control': 'no-store',
      'Referrer-Policy': 'no-referrer',
      'X-Content-Type-Options': 'nosniff',
      'Content-Security-Policy': [
        "default-src 'none'",
        `style-src 'sha256-${hash}'`,
        "frame-src 'self'",
        ['form-action', "'self'", ...new Set(formOrigins)].join(' '),
        "base-uri 'none'",
        "frame-ancestors 'none'",
      ].join('; '),
    }),
  };
}

export function wantsJson(context: Context): boolean {
  const accepted = context.req.header('accept') ?? '';
  return accepted.includes('application/json') && !accepted.includes('text/html');
}
