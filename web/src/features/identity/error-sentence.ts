import { identityProblems } from '#services/identity/refusals.ts';

/**
 * Anyone can write an error into an address, so its words are never shown. A known code has our own
 * sentence, everything else has none.
 */
const sentences: Readonly<Record<string, string>> = {
  'link-invalid': identityProblems['link-invalid'].message,
  'link-expired': identityProblems['link-expired'].message,
  'link-used': identityProblems['link-used'].message,
  'link-other-browser': identityProblems['link-other-browser'].message,
  'email-not-confirmed': identityProblems['email-not-confirmed'].message,
  'rate-limited': `${identityProblems['rate-limited'].title}. ${identityProblems['rate-limited'].detail}`,
  network: 'Connection error. Please check your internet connection and try again.',
  otp_expired: identityProblems['link-expired'].message,
  access_denied: identityProblems['link-invalid'].message,
};

export function sentenceOfCode(code: string | undefined): string | null {
  return code !== undefined && Object.hasOwn(sentences, code) ? (sentences[code] ?? null) : null;
}

/** What /auth/error says about an unknown code. */
export const unknownError = 'An authentication error occurred';
