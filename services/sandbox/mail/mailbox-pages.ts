import { Hono } from 'hono';
import type { Context } from 'hono';
import { html } from 'hono/html';
import { loopbackNames } from '#services/platform/http/cors.ts';
import { createPageFrame, wantsJson } from '#services/platform/http/page-frame.ts';
import type { Html } from '#services/platform/http/page-frame.ts';
import type { CaughtMail, Mailbox } from './mailbox.ts';

/**
 * The mailbox under `/dev/mail`: pages for people, and a list in JSON for programs. A
 * mail may be hostile: its words are escaped, and its HTML is in a frame that
 * runs no script, loads nothing and belongs to no origin.
 *
 * It is shown only under the host names of this machine. A reader can sign in as any user, and a
 * foreign site could point its own name at this machine and try all ports.
 */
export function mailboxPages(mailbox: Mailbox, productName: string): Hono {
  const pages = new Hono().basePath('/dev/mail');
  const page = (context: Context, title: string, main: Html, status: 200 | 404 = 200) =>
    context.html(frame.document(`${title} · ${productName}`, main), status, pageHeaders);

  pages.use(async (context, next) => {
    if (!loopbackNames.has(new URL(context.req.url).hostname)) return context.notFound();
    await next();
    return undefined;
  });

  pages.get('/', async (context) => {
    const to = context.req.query('to')?.trim() ?? '';
    const mails = await mailbox.list(to === '' ? undefined : to);
    context.header('Vary', 'Accept');
    if (wantsJson(context)) return context.json(mails, 200, { 'Cache-Control': 'no-store' });
    return page(context, 'Mailbox', listOf(mails, to));
  });

  pages.delete('/', async (context) => {
    await mailbox.clear();
    return context.json([], 200, { 'Cache-Control': 'no-store' });
  });

  pages.get('/:id', async (context) => {
    const mail = await mailbox.find(context.req.param('id'));
    if (mail === null) return page(context, 'Email not found', missing, 404);
    return page(context, titleOf(mail), oneMail(mail));
  });

  pages.get('/:id/html', async (context) => {
    const mail = await mailbox.find(context.req.param('id'));
    if (mail === null) return page(context, 'Email not found', missing, 404);
    // Links open beside the mailbox; nothing else of the mail can reach out of its frame.
    return context.html(`<base target="_blank">${mail.html}`, 200, {
      ...pageHeaders,
      'Content-Security-Policy': mailPolicy,
    });
  });

  pages.all('*', (context) => page(context, 'Page not found', missing, 404));
  return pages;
}

function titleOf(mail: CaughtMail): string {
  return mail.subject === '' ? 'Email without a subject' : mail.subject;
}

// --- pages ---

function listOf(mails: readonly CaughtMail[], to: string): Html {
  return html`<h1>Mailbox</h1>
    <p>
      No mail server is set, so every email this server sends lands here. Newest first; the last 500
      are kept.
    </p>
    <form method="get" action="/dev/mail" role="search">
      <label for="to">Sent to</label>
      <input id="to" name="to" type="email" value="${to}" autocomplete="off" />
      <button type="submit">Show</button>
      <a href="/dev/mail${to === '' ? '' : `?to=${encodeURIComponent(to)}`}">Reload</a>
      ${to === '' ? '' : html`<a href="/dev/mail">Show all</a>`}
    </form>
    ${
      mails.length === 0
        ? nothing(to)
        : html`<ol class="mails">
            ${mails.map(entry)}
          </ol>`
    }`;
}

function nothing(to: string): Html {
  return to === ''
    ? html`<p class="empty">
        No emails yet. Sign up or ask for a link, and the email arrives here.
      </p>`
    : html`<p class="empty">No emails to ${to}.</p>`;
}

function entry(mail: CaughtMail): Html {
  return html`<li>
    <a href="/dev/mail/${mail.id}">${titleOf(mail)}</a>
    <span>to ${mail.to}</span>
    <time datetime="${mail.received_at}">${when(mail)}</time>
  </li>`;
}

function oneMail(mail: CaughtMail): Html {
  const links = linksIn(mail.text);
  return html`<p><a href="/dev/mail">All emails</a></p>
    <h1>${titleOf(mail)}</h1>
    <dl>
      <dt>From</dt>
      <dd>${mail.from}</dd>
      <dt>To</dt>
      <dd>${mail.to}</dd>
      <dt>Received</dt>
      <dd><time datetime="${mail.received_at}">${when(mail)}</time></dd>
      <dt>Message ID</dt>
      <dd>${mail.message_id}</dd>
    </dl>
    ${
      links.length === 0
        ? ''
        : html`<h2>Links</h2>
            <ul>
              ${links.map((link) => html`<li><a href="${link}" rel="noreferrer">${link}</a></li>`)}
            </ul>`
    }
    <h2>Text</h2>
    <pre tabindex="0" aria-label="Email text">${mail.text}</pre>
    ${
      mail.html === ''
        ? ''
        : html`<h2>HTML</h2>
            <iframe
              title="Email as HTML"
              src="/dev/mail/${mail.id}/html"
              sandbox="allow-popups allow-popups-to-escape-sandbox"
              referrerpolicy="no-referrer"
            ></iframe>`
    }`;
}

const missing = html`<h1>Email not found</h1>
  <p>It may have been one of the oldest. <a href="/dev/mail">All emails</a></p>`;

/** Web addresses only: a mail may hold any other. */
function linksIn(text: string): string[] {
  const found = text.match(/https?:\/\/[^\s<>"']+/g) ?? [];
  return [...new Set(found)].filter((link) => URL.canParse(link));
}

function when({ received_at: at }: CaughtMail): string {
  return `${at.slice(0, 10)} ${at.slice(11, 19)} UTC`;
}

// --- around every page ---

const frame = createPageFrame(`
form { display: flex; flex-wrap: wrap; align-items: center; gap: .75rem; margin: 1.5rem 0; }
input { flex: 1 1 16rem; }
.mails { margin: 0; padding: 0; list-style: none; border-top: 1px solid var(--line); }
.mails li { display: flex; flex-wrap: wrap; gap: .25rem 1rem; padding: .75rem 0; border-bottom: 1px solid var(--line); }
.mails a { flex: 1 1 20rem; font-weight: 600; }
.mails span { color: var(--ink-2); overflow-wrap: anywhere; }
pre { padding: 1rem; border: 1px solid var(--line); border-radius: 10px; background: var(--surface);
  white-space: pre-wrap; overflow-wrap: anywhere; font: .875rem/1.6 ui-monospace, monospace; }
iframe { width: 100%; height: 36rem; border: 1px solid var(--line); border-radius: 10px; background: #fff; }
`);

const pageHeaders = frame.headers();

const mailPolicy = [
  'sandbox allow-popups allow-popups-to-escape-sandbox',
  "default-src 'none'",
  "style-src 'unsafe-inline'",
  'img-src data:',
  "form-action 'none'",
  "frame-ancestors 'self'",
].join('; ');
