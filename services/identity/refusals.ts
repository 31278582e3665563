import type { ProblemCode } from '#services/platform/problems.ts';

/**
 * The refusals of these calls: problem code, title and sentence. Where the specification names a title
 * and a sentence, the sentence is `detail`, and `message` holds the keywords that clients search for: 'already registered', 'invalid email', 'too short', 'weak', 'rate limit'.
 */
export const identityProblems = {
  'email-in-use': {
    title: 'Email already in use',
    detail: 'An account with this email already exists. Try signing in instead.',
    message: 'This email is already registered. Try signing in instead.',
  },
  'invalid-email': {
    title: 'Invalid email address',
    detail: 'Please enter a valid email address.',
    message: 'This is an invalid email address. Please enter a valid one.',
  },
  'password-too-short': {
    title: 'Password too short',
    detail: 'Password must be at least 8 characters long.',
    message: 'The password is too short. It must be at least 8 characters long.',
  },
  'password-too-weak': {
    title: 'Password too weak',
    detail: 'Please choose a stronger password with uppercase, lowercase, and numbers.',
    message:
      'The password is too weak. Please choose a stronger password with uppercase, lowercase, and numbers.',
  },
  'rate-limited': {
    title: 'Too many attempts',
    detail: 'Please wait a moment before trying again.',
    message: 'The rate limit is reached. Please wait a moment before trying again.',
  },
  'wrong-credentials': {
    title: 'Login failed',
    message: 'Login failed. Please check your credentials.',
  },
  'authentication-required': {
    title: 'Authentication required',
    message: 'Authentication required',
  },
  'email-not-confirmed': {
    title: 'Confirm your email address',
    message: 'Please confirm your email address first. We can send the link again.',
  },
  /** A password given to change, delete or export something; the session does not end. */
  'wrong-password': {
    title: 'Wrong password',
    message: "That isn't your current password.",
  },
  'reauthentication-required': {
    title: "Please confirm it's you",
    message: 'Enter your password to continue.',
  },
  /** The account signs in by links and has no password to compare with. */
  'no-password': {
    title: 'No password yet',
    message: 'This account has no password yet. Use a reset link to choose one first.',
  },
  'link-invalid': {
    title: "This link isn't valid",
    message: "This link isn't valid. Ask for a new one.",
  },
  'link-expired': {
    title: 'This link no longer works',
    message:
      'This link expired or was replaced by a newer one. Use the newest one, or ask for another.',
  },
  'link-used': {
    title: 'This link was already used',
    message: 'This link was already used. Ask for a new one.',
  },
  'link-other-browser': {
    title: 'Asked for in another browser',
    message:
      'This link only works in the browser where you asked for it. Open it there, or get a new one here.',
  },
  'avatar-not-an-image': {
    title: "We can't use this picture",
    message: 'Choose a PNG, JPEG, or WebP picture.',
  },
  'avatar-too-large': {
    title: 'The picture is too large',
    message: 'Pictures can be up to 256 kB.',
  },
  'account-erasing': {
    title: 'This account is being deleted',
    message: "This account is being deleted and can't be used.",
  },
} as const satisfies Partial<
  Record<ProblemCode, { title: string; message: string; detail?: string }>
>;
export type IdentityProblem = keyof typeof identityProblems;
