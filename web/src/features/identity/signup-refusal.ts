import { ApiProblem } from '#web/api/api.ts';
import { waitSentence } from '#web/api/problem-words.ts';
import type { FieldErrors } from '#web/ui/form/form.ts';

/** Why a sign-up failed: the banner's sentence, by problem code. */
export type SignupRefusal = { title: string; detail: string };

const tryAgain = 'Please try again.';

/** A generic title, which the banner leaves out. */
export const plainRefusal = 'Sign up failed';

export function signupRefusal(failure: unknown): SignupRefusal {
  if (!(failure instanceof ApiProblem)) return { title: plainRefusal, detail: tryAgain };
  const { code, status, message } = failure;
  if (code === 'unreadable-reply') {
    return { title: plainRefusal, detail: 'Signup completed but user session is invalid' };
  }
  if (status === 0) {
    return {
      title: 'Connection error',
      detail: 'Please check your internet connection and try again.',
    };
  }
  if (status === 429) {
    return { title: 'Too many attempts', detail: waitSentence(failure.retryAfterSeconds) };
  }
  if (isKnown(code)) return { title: failure.title ?? plainRefusal, detail: message };
  if (code.startsWith('password')) return { title: 'Password error', detail: message };
  const isInternal = status >= 500 || code === 'unknown';
  return { title: plainRefusal, detail: isInternal ? tryAgain : message };
}

/** The field that a refusal concerns, by its code. */
const fieldOf = {
  'email-in-use': 'email',
  'invalid-email': 'email',
  'password-too-short': 'password',
  'password-too-weak': 'password',
} as const;

function isKnown(code: string): code is keyof typeof fieldOf {
  return Object.hasOwn(fieldOf, code);
}

/** The refusal beside its field, in the server's words for the field if any. */
export function signupFieldErrors(failure: unknown): FieldErrors {
  if (!(failure instanceof ApiProblem)) return {};
  const errors: Record<string, string> = {};
  for (const { field, message } of failure.errors)
    errors[field === 'terms_version' ? 'terms' : field] ??= message;
  const { code } = failure;
  if (isKnown(code)) errors[fieldOf[code]] ??= failure.title ?? failure.message;
  return errors;
}
