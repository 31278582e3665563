import type { KeyScope } from '#services/platform/contract.ts';
import { Problem } from '#services/platform/problem.ts';

/** An API key that made a call. */
export type CallingKey = {
  id: string;
  scopes: readonly KeyScope[];
  /** Credits that its runs may use per UTC month. */
  monthlyCap: number;
};

export type Caller = {
  userId: string;
  /** What the call ends with: the session, or the API key. */
  sessionId: string;
  expiresAt: Date;
  /** Null for a user in person. */
  apiKey: CallingKey | null;
};

/** The caller of a bearer token; null unless it is valid now. */
export type Authenticate = (bearer: string) => Promise<Caller | null>;

/** @param bearer that is not valid; undefined if none was sent */
function authenticationRequired(bearer: string | undefined): Problem {
  return new Problem(
    'authentication-required',
    bearer?.startsWith('sk_') === true
      ? 'Authentication required: this API key is unknown or revoked.'
      : 'Authentication required',
  );
}

/**
 * @param scope what an API key needs for this call; undefined where none may make it
 * @throws Problem 401, or 403 `scope-missing` or `not-with-api-key`
 */
export async function callerOf(
  authenticate: Authenticate,
  header: string | undefined,
  scope: KeyScope | 'any' | undefined,
): Promise<Caller> {
  const bearer = bearerOf(header);
  const caller = bearer === undefined ? null : await authenticate(bearer);
  if (!caller) throw authenticationRequired(bearer);
  if (caller.apiKey && scope !== 'any') requireScope(caller.apiKey, scope);
  return caller;
}

/** @throws Problem 403 `scope-missing`, or `not-with-api-key` where no scope is enough */
export function requireScope({ scopes }: CallingKey, scope: KeyScope | undefined): void {
  if (scope === undefined)
    throw new Problem(
      'not-with-api-key',
      "API keys can't make this call. Sign in to make it yourself.",
    );
  if (!scopes.includes(scope))
    throw new Problem('scope-missing', `This API key doesn't have the scope ${scope}.`);
}

/** The token of an `Authorization` header; undefined when it holds none. */
export function bearerOf(header: string | undefined): string | undefined {
  return /^Bearer ([\w.~+/=-]+)$/i.exec(header ?? '')?.[1];
}
