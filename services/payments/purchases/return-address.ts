import { Problem } from '#services/platform/problem.ts';

/**
 * Where the provider's page leads back to. Only to pages of ours: otherwise a
 * link of the provider's could be made that ends on any page.
 */
export type ReturnAddresses = { successUrl: string; cancelUrl: string };

type Asked = { success_url?: string | undefined; cancel_url?: string | undefined };

/** @throws Problem 400 `foreign-address` that names the field */
export function returnAddresses(
  asked: Asked,
  packageId: string,
  { publicUrl, origins }: { publicUrl: string; origins: ReadonlySet<string> },
): ReturnAddresses {
  const { success_url: success, cancel_url: cancel } = asked;
  const successUrl = new URL('/credits/success', publicUrl);
  const cancelUrl = new URL(`/credits/purchase?cancelled=${packageId}`, publicUrl);
  return {
    successUrl:
      success === undefined
        ? successUrl.href
        : withoutSession(ownAddress(success, 'success_url', origins)).href,
    cancelUrl:
      cancel === undefined ? cancelUrl.href : ownAddress(cancel, 'cancel_url', origins).href,
  };
}

/** The session's id is added for the provider; a client may have added it itself. */
function withoutSession(url: URL): URL {
  if (url.searchParams.has('session_id')) url.searchParams.delete('session_id');
  return url;
}

/** An address of one of these origins. @throws Problem 400 `foreign-address` that names the field */
export function ownAddress(text: string, field: string, origins: ReadonlySet<string>): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  const isWeb = url?.protocol === 'https:' || url?.protocol === 'http:';
  if (url === null || !isWeb || url.username !== '' || url.password !== '')
    throw foreign(field, 'Use a whole address that begins with https, without a name or password.');
  if (!origins.has(url.origin)) throw foreign(field, 'This address is not one of this site.');
  return url;
}

function foreign(field: string, message: string): Problem {
  return new Problem('foreign-address', message, { errors: [{ field, message }] });
}
