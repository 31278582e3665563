const key = 'sevenfold.pkce';

/** The PKCE verifier that this tab kept when it asked for a code; it serves once. */
export function takeVerifier(): string | null {
  if (!navigator.cookieEnabled) return null;
  const verifier = sessionStorage.getItem(key);
  sessionStorage.removeItem(key);
  return verifier;
}
