import { escapeHtml } from '#services/platform/http/html.ts';

/** One mail in plain words; `layOut` makes text and HTML of it. */
export type EmailContent = {
  subject: string;
  /** Sentences, a paragraph each, before the button. */
  paragraphs: readonly string[];
  /** What someone else wrote, after the paragraphs: each line is marked, so that none passes for ours. */
  quote?: string;
  action?: { label: string; url: string };
  /** Smaller words at the end, such as why the person got this. */
  closing?: readonly string[];
};

/** An email as it is sent: the same words as plain text and as HTML. */
export type LaidOutMail = { subject: string; text: string; html: string };

/** Who writes, for the end of every mail. */
export type MailSender = { productName: string; contactEmail: string | null };

/**
 * Lays an email out. The HTML loads nothing and asks for nothing: no picture, no font, no table, and
 * colours that hold their contrast in light and in dark. The button's address stands below it in
 * full, for programs that show no buttons and for people who look before they follow.
 */
export function layOut(content: EmailContent, sender: MailSender): LaidOutMail {
  const subject = singleLine(content.subject);
  return { subject, text: asText(content, sender), html: asHtml(content, subject, sender) };
}

/** A header is one line: whatever would end it, or hide in it, becomes a space. */
export function singleLine(text: string): string {
  return text
    .toWellFormed()
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim();
}

function asText(content: EmailContent, sender: MailSender): string {
  const { paragraphs, quote, action, closing = [] } = content;
  const blocks = [
    ...paragraphs.map(singleLine),
    ...(quote === undefined ? [] : [quotedLines(quote).join('\n')]),
    ...(action ? [`${singleLine(action.label)}:\n${checkedUrl(action.url)}`] : []),
    ...closing.map(singleLine),
    `-- \n${[sender.productName, ...(sender.contactEmail === null ? [] : [sender.contactEmail])].join('\n')}`,
  ];
  return `${blocks.join('\n\n')}\n`;
}

function asHtml(content: EmailContent, subject: string, sender: MailSender): string {
  const { paragraphs, quote, action, closing = [] } = content;
  const name = escapeHtml(sender.productName);
  const contact =
    sender.contactEmail === null
      ? ''
      : `<br>${link(`mailto:${sender.contactEmail}`, sender.contactEmail)}`;
  return [
    '<!doctype html>',
    '<html lang="en">',
    '<head>',
    '<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="color-scheme" content="light dark">',
    '<meta name="supported-color-schemes" content="light dark">',
    `<title>${escapeHtml(subject)}</title>`,
    `<style>${style}</style>`,
    '</head>',
    '<body class="page" style="margin:0;padding:0;background:#fffefb;color:#17211f">',
    `<div role="article" aria-label="${escapeHtml(subject)}" lang="en" style="${pageStyle}">`,
    `<h1 style="${headingStyle}">${escapeHtml(subject)}</h1>`,
    ...paragraphs.map((words) => paragraph(words, 'margin:0 0 16px')),
    ...(quote === undefined ? [] : quoteLines(quote)),
    ...(action ? actionLines(action) : []),
    ...closing.map((words) => paragraph(words, 'margin:0 0 16px')),
    `<p class="quiet" style="${footerStyle}">${name}${contact}</p>`,
    '</div>',
    '</body>',
    '</html>',
    '',
  ].join('\n');
}

/** Characters of a quoted line: longer ones would be wrapped without the mark. */
const quotedWidth = 72;

/** A text with `> ` before each line, which none of our own lines has. */
export function quotedLines(text: string): string[] {
  return linesOf(text).flatMap((line) =>
    (line.match(wrapped) ?? ['']).map((part) => `> ${part}`.trimEnd()),
  );
}

const wrapped = new RegExp(`\\S.{0,${quotedWidth - 1}}(?=\\s|$)|\\S{${quotedWidth}}`, 'gu');

const linesOf = (text: string): string[] => text.split(/\r\n?|\n/).map(singleLine);

function quoteLines(quote: string): string[] {
  const lines = linesOf(quote).filter((line) => line !== '');
  return [
    `<blockquote class="quiet" style="${quoteStyle}">`,
    ...lines.map((line) => paragraph(line, 'margin:0 0 8px')),
    '</blockquote>',
  ];
}

function actionLines(action: { label: string; url: string }): string[] {
  const url = checkedUrl(action.url);
  return [
    `<p style="margin:24px 0"><a class="button" href="${escapeHtml(url)}" style="${buttonStyle}">${escapeHtml(singleLine(action.label))}</a></p>`,
    `<p style="margin:0 0 16px">Or paste this link into your browser:<br>${link(url, url)}</p>`,
  ];
}

function paragraph(words: string, paragraphStyle: string): string {
  return `<p style="${paragraphStyle}">${escapeHtml(singleLine(words))}</p>`;
}

function link(url: string, words: string): string {
  return `<a class="link" href="${escapeHtml(url)}" style="color:#0b6b5d;overflow-wrap:anywhere">${escapeHtml(words)}</a>`;
}

/** Our own pages only ever have these; anything else in a button is a bug. */
function checkedUrl(url: string): string {
  if (!/^https?:\/\/[\x21-\x7e]+$/.test(url)) throw new Error('A mail links to web pages only');
  return url;
}

const fonts = "-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif";
const pageStyle = `max-width:560px;margin:0 auto;padding:32px 20px;font-family:${fonts};font-size:16px;line-height:1.5`;
const headingStyle = 'margin:0 0 20px;font-size:24px;line-height:1.25;font-weight:600';
const buttonStyle =
  'display:inline-block;padding:12px 20px;border-radius:6px;background:#0b6b5d;color:#ffffff;font-size:16px;font-weight:600;text-decoration:none';
const quoteStyle =
  'margin:0 0 16px;padding:8px 0 0 16px;border-left:4px solid #d9d4c6;color:#46534f;overflow-wrap:anywhere';
const footerStyle =
  'margin:32px 0 0;padding-top:16px;border-top:1px solid #d9d4c6;font-size:16px;color:#46534f';

/** What inline styles cannot say. Programs that leave it out show dark words on white. */
const style = [
  ':root{color-scheme:light dark}',
  '@media (prefers-color-scheme:dark){',
  '.page{background:#0f1718!important;color:#e9efea!important}',
  '.link{color:#62c9b1!important}',
  '.button{background:#62c9b1!important;color:#06231e!important}',
  '.quiet{color:#b3c0bb!important;border-color:#2a3738!important}',
  '}',
].join('');
