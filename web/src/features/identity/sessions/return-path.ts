import { ownPath } from '#services/identity/contract/forms.ts';

export const home = '/dashboard';

/**
 * Where to go after signing in. Anyone can write a `redirect` parameter, so only a path of this
 * site counts, except the sign-in pages.
 */
export function safeReturnPath(candidate: string | undefined, origin: string): string {
  const path = ownPath(candidate, origin);
  if (path === null) return home;
  const { pathname } = new URL(path, origin);
  return isSignInPage(pathname) ? home : path;
}

function isSignInPage(pathname: string): boolean {
  const entrances = ['/', '/login', '/signup', '/forgot-password', '/reset-password'];
  return entrances.includes(pathname) || pathname.startsWith('/auth/');
}
