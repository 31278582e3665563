import { Problem } from '#services/platform/problem.ts';

/** The user of a bearer token; null unless it is valid now. */
export type Authenticate = (
  bearer: string,
) => Promise<{ userId: string; sessionId: string; expiresAt: Date } | null>;

const authenticationRequired = (): Problem =>
  new Problem('authentication-required', 'Authentication required');

/** @throws Problem 401 */
export async function callerOf(authenticate: Authenticate, header: string | undefined) {
  const bearer = bearerOf(header);
  const caller = bearer === undefined ? null : await authenticate(bearer);
  if (!caller) throw authenticationRequired();
  return caller;
}

/** The token of an `Authorization` header; undefined when it holds none. */
export function bearerOf(header: string | undefined): string | undefined {
  return /^Bearer ([\w.~+/=-]+)$/i.exec(header ?? '')?.[1];
}
