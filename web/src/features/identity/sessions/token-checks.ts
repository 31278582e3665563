/** Checks the tokens of a sign-in link before the server is called. */
export type LinkTokens = { access: string | undefined; refresh: string | undefined };

/**
 * The errors as sentences; empty when there are none. Only the server knows whether a token is
 * genuine. `nowMs` is this device's clock.
 */
export function tokenErrors({ access, refresh }: LinkTokens, nowMs: number): string[] {
  return [...errorsOf('Access token', access, nowMs), ...errorsOf('Refresh token', refresh, null)];
}

/** The one error that the server may judge otherwise, because the device's clock may be wrong. */
export const expiredByThisClock = 'Access token is expired';

/** `nowMs` is null for a token whose expiry only the server checks. */
function errorsOf(name: string, token: string | undefined, nowMs: number | null): string[] {
  if (!token) return [`${name} is missing`];
  const parts = token.split('.');
  if (parts.length !== 3 || !parts.every((part) => /^[\w-]+$/.test(part))) {
    return [`${name} has invalid JWT structure`];
  }
  const payload = decoded(parts[1] ?? '');
  if (payload === null) return [`${name} payload cannot be decoded`];
  const isOver = nowMs !== null && typeof payload.exp === 'number' && payload.exp * 1000 <= nowMs;
  return isOver ? [expiredByThisClock] : [];
}

function decoded(part: string): { exp?: unknown } | null {
  try {
    const bytes = Uint8Array.from(
      atob(part.replaceAll('-', '+').replaceAll('_', '/')),
      (sign) => sign.codePointAt(0) ?? 0,
    );
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : null;
  } catch {
    // Neither base64 nor JSON: an error of the token.
    return null;
  }
}

export function invalidTokens(errors: readonly string[]): string {
  return `Invalid tokens: ${errors.join(', ')}`;
}
