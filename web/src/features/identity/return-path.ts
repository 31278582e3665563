/**
 * Where to go after signing in. Anyone can write a `redirect` parameter into a link, so only a path
 * of this very site counts: no scheme, no host, no backslash or control character that a browser
 * would read as one, and not the sign-in pages themselves.
 */
export function safeReturnPath(candidate: string | undefined, origin: string): string {
  const home = '/dashboard';
  if (!candidate || !candidate.startsWith('/') || /^\/[/\\]|[\\\p{Cc}]/u.test(candidate))
    return home;
  if (!URL.canParse(candidate, origin)) return home;
  const url = new URL(candidate, origin);
  // `/.//host` resolves to a path that begins with two slashes, which is a host to whoever reads it next.
  if (url.origin !== new URL(origin).origin || url.pathname.startsWith('//')) return home;
  if (['/login', '/signup', '/'].includes(url.pathname)) return home;
  return `${url.pathname}${url.search}${url.hash}`;
}
