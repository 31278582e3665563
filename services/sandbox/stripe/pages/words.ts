import { html } from 'hono/html';
import { createPageFrame } from '#services/platform/http/page-frame.ts';
import type { Html } from '#services/platform/http/page-frame.ts';

/** The shared style of the pages of payments, and their words for money, times and states. */

const frame = createPageFrame(`
.note { display: flex; gap: .5rem; align-items: baseline; margin: 0 0 1.5rem; padding: .625rem .875rem;
  border: 1px solid var(--warn); border-radius: 8px; color: var(--warn); font-weight: 600; }
.narrow { max-width: 30rem; margin: 0 auto; }
.card { margin: 0 0 1rem; padding: 1rem; border: 1px solid var(--line); border-radius: 10px;
  background: var(--surface); }
.price { margin: 0; font-size: 2rem; font-weight: 650; line-height: 1.2; font-variant-numeric: tabular-nums; }
.quiet { color: var(--ink-2); }
.alert { padding: .75rem .875rem; border-inline-start: 4px solid var(--bad); background: var(--sunken);
  color: var(--bad); font-weight: 600; }
.choices { display: grid; gap: .75rem; margin: 1.5rem 0 0; }
.choices button { width: 100%; }
.choices form { margin: 0; }
.second { border: 1px solid var(--strong); background: var(--surface); color: var(--ink); }
.rows { display: grid; gap: .75rem; margin: 0; padding: 0; list-style: none; }
.row { padding: 1rem; border: 1px solid var(--line); border-radius: 10px; background: var(--surface); }
.row h3 { display: flex; flex-wrap: wrap; justify-content: space-between; gap: .25rem 1rem; margin: 0;
  font-size: 1rem; }
.row p { margin: .25rem 0 0; }
.acts { display: flex; flex-wrap: wrap; gap: .5rem; margin: .75rem 0 0; }
.acts form { display: flex; flex-wrap: wrap; gap: .5rem; margin: 0; }
.acts label { display: flex; align-items: center; gap: .5rem; }
.acts input { width: 7rem; }
.row h3 span, .row p { min-width: 0; overflow-wrap: anywhere; }
code { font: .875rem/1.6 ui-monospace, monospace; color: var(--ink-2); overflow-wrap: anywhere; }
.figures { font-variant-numeric: tabular-nums; }
@media (forced-colors: active) { button { border: 1px solid; } }
`);

export const paymentsFrame = {
  ...frame,
  refusal: (message: string): Html =>
    html`<div class="narrow">
      ${sandboxNote}
      <h1>That does not work</h1>
      <p>${message}</p>
      <p><a href="/dev/stripe">All payments</a></p>
    </div>`,
};

export const sandboxNote = html`<p class="note" role="note">
  <span aria-hidden="true">◇</span> Sandbox: no money moves
</p>`;

export function money(amount: number | null, currency: string | null): string {
  const format = new Intl.NumberFormat('en-US', { style: 'currency', currency: currency ?? 'usd' });
  const digits = format.resolvedOptions().maximumFractionDigits ?? 2;
  return format.format((amount ?? 0) / 10 ** digits);
}

/** From seconds since 1970. */
export function time(seconds: number): Html {
  const iso = new Date(seconds * 1000).toISOString();
  return html`<time datetime="${iso}">${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC</time>`;
}

/** A form that is one button, with what it sends. */
export function act(
  action: string,
  label: string,
  fields: Readonly<Record<string, string>> = {},
  kind: 'first' | 'second' = 'second',
): Html {
  return html`<form method="post" action="/dev/stripe/${action}">
    ${Object.entries(fields).map(
      ([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`,
    )}
    <button type="submit" class="${kind}">${label}</button>
  </form>`;
}
