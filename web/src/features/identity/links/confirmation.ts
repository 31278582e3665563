import type { Arrival } from '#web/features/identity/sessions/arrival.ts';
import { sentenceOfCode } from '#web/features/identity/error-sentence.ts';

/** The parameters of /auth/confirm and the tokens that came with it. */
export type ConfirmationAddress = {
  confirmed: string | undefined;
  error: string | undefined;
  arrival: Arrival | null;
};

export type ConfirmationPlan =
  | { do: 'exchange'; access: string; refresh: string }
  | { do: 'restore' }
  | { do: 'refuse'; sentence: string };

export const confirmedWords = {
  signedIn: 'Your email has been confirmed successfully! You are now logged in.',
  signedOut: 'Your email has been confirmed successfully! Please sign in.',
} as const;

export const confirmationFailed =
  'Failed to confirm your email. Please try again or contact support.';
export const confirmationInvalid = 'Invalid confirmation link. Please try signing up again.';

/** An error first, as specified; then the tokens, then an existing session. */
export function planOf({ confirmed, error, arrival }: ConfirmationAddress): ConfirmationPlan {
  if (error !== undefined) {
    return { do: 'refuse', sentence: sentenceOfCode(error) ?? confirmationFailed };
  }
  if (confirmed !== 'true') return { do: 'refuse', sentence: confirmationInvalid };
  const { access_token: access, refresh_token: refresh } = arrival?.values ?? {};
  return access && refresh ? { do: 'exchange', access, refresh } : { do: 'restore' };
}
