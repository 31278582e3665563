export const consentCookie = 'sf_consent';

/**
 * Finds a choice of this version among the cookies of a request or a page: the version, then the first
 * letters of what is allowed, such as `1.f`. The server and the page read by the same pattern, so the
 * banner is left out exactly when the page knows a choice.
 */
export function choicePattern(version: string): string {
  return `(?:^|; ?)${consentCookie}=(${version}\\.(?:-|fa?|a))(?=;|$)`;
}
