import { createHash } from 'node:crypto';
import type { Context } from 'hono';

/**
 * Answers JSON with a weak `ETag`, or 304 without a body to whoever asks with that tag.
 *
 * The tag is of the answer itself and not of the versions of its rows: text that was erased, a call
 * that has come further and a new release change an answer, and no version.
 *
 * `no-store` stays, as on every answer to a person: nothing on the way and no browser keeps it, so no
 * browser asks with the tag by itself. It is for a program that keeps the answer on its own account
 * and says so.
 */
export function answerIfChanged(context: Context, body: unknown): Response {
  const json = JSON.stringify(body);
  const tag = `"${createHash('sha256').update(json).digest('base64url').slice(0, 22)}"`;
  context.header('ETag', `W/${tag}`);
  if (namesTag(context.req.header('if-none-match'), tag)) return context.body(null, 304);
  return context.body(json, 200, { 'Content-Type': 'application/json' });
}

/** Compared weakly (RFC 9110, 8.8.3.2): a leading `W/` says nothing on either side. */
function namesTag(header: string | undefined, tag: string): boolean {
  const tags = (header ?? '').split(',').map((one) => one.trim().replace(/^W\//, ''));
  return tags.includes(tag) || tags.includes('*');
}
