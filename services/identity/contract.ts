import * as v from 'valibot';

/**
 * What a person sends to sign up and sign in, and what comes back. The forms in the browser and the
 * routes on the server parse with the same schemas, so the sentences a person reads beside a field
 * are written once, here.
 */

/** Characters. A password is never cut short, trimmed or changed in case. */
const identityLengths = {
  email: 254,
  nameMin: 2,
  nameMax: 80,
  passwordAtLogin: 6,
  passwordMin: 8,
  passwordMax: 256,
} as const;

/** Date of the terms and the privacy policy that sign-up accepts; stored with the account. */
export const policyVersion = '2026-11-20';

const Email = v.pipe(
  v.string('Email is required'),
  v.trim(),
  v.nonEmpty('Email is required'),
  v.maxLength(identityLengths.email, 'Please enter a valid email address'),
  v.email('Please enter a valid email address'),
);

const Name = v.pipe(
  v.string('Full name is required'),
  v.trim(),
  v.nonEmpty('Full name is required'),
  v.minLength(identityLengths.nameMin, 'Name must be at least 2 characters'),
  v.maxLength(identityLengths.nameMax, 'Name must be at most 80 characters'),
);

/** One pattern with look-aheads, because a schema generator keeps only the first of several. */
const passwordComposition = /^(?=[\s\S]*[a-z])(?=[\s\S]*[A-Z])(?=[\s\S]*[0-9])/;

const NewPassword = v.pipe(
  v.string('Password is required'),
  v.nonEmpty('Password is required'),
  v.minLength(identityLengths.passwordMin, 'Password must be at least 8 characters'),
  v.maxLength(identityLengths.passwordMax, 'Password must be at most 256 characters'),
  v.regex(
    passwordComposition,
    'Password must contain at least one uppercase letter, one lowercase letter, and one number',
  ),
);

/**
 * The rules of a new password one by one, for a checklist that ticks itself off while a person
 * types. Together they accept exactly what `SignupRequest` accepts for `password`, but for the upper
 * length.
 */
export const passwordRules = [
  { id: 'length', words: 'At least 8 characters', met: (password: string) => password.length >= 8 },
  { id: 'lower', words: 'One lowercase letter', met: (password: string) => /[a-z]/.test(password) },
  { id: 'upper', words: 'One uppercase letter', met: (password: string) => /[A-Z]/.test(password) },
  { id: 'digit', words: 'One number', met: (password: string) => /[0-9]/.test(password) },
] as const;

/**
 * `POST /auth/login`. The server does not apply the six characters of the form: any wrong pair gets
 * the same answer, however short the password.
 */
export const LoginRequest = v.strictObject({
  email: Email,
  password: v.pipe(
    v.string('Password is required'),
    v.nonEmpty('Password is required'),
    v.maxLength(identityLengths.passwordMax, 'Password must be at most 256 characters'),
  ),
  /** Keeps the session for up to 30 days instead of until the browser closes. */
  remember: v.optional(v.boolean(), false),
});
export type LoginRequest = v.InferOutput<typeof LoginRequest>;

/** The login form: the request, and a hint about passwords that are too short to be right. */
export const LoginForm = v.strictObject({
  ...LoginRequest.entries,
  password: v.pipe(
    v.string('Password is required'),
    v.nonEmpty('Password is required'),
    v.minLength(identityLengths.passwordAtLogin, 'Password must be at least 6 characters'),
    v.maxLength(identityLengths.passwordMax, 'Password must be at most 256 characters'),
  ),
});

/** `POST /auth/signup`. */
export const SignupRequest = v.strictObject({
  name: Name,
  email: Email,
  password: NewPassword,
  /** The `policyVersion` the person accepted; absent from clients older than the field. */
  terms_version: v.optional(v.pipe(v.string(), v.maxLength(32))),
});
export type SignupRequest = v.InferOutput<typeof SignupRequest>;

/** The sign-up form: the request's fields, the repeated password and the checkbox. */
export const SignupForm = v.pipe(
  v.strictObject({
    name: Name,
    email: Email,
    password: NewPassword,
    confirmPassword: v.pipe(
      v.string('Please confirm your password'),
      v.nonEmpty('Please confirm your password'),
    ),
    terms: v.literal(true, 'You must accept the Terms of Service and Privacy Policy'),
  }),
  v.forward(
    v.partialCheck(
      [['password'], ['confirmPassword']],
      (form) => form.password === form.confirmPassword,
      'Passwords do not match',
    ),
    ['confirmPassword'],
  ),
);

/** The person, as `GET /users/me` and every session reply carry them. */
export const User = v.object({
  id: v.string(),
  email: v.string(),
  name: v.string(),
  subscription_tier: v.picklist(['free', 'pro', 'scale']),
  /** Runs of this calendar month (UTC). */
  optimizations_used: v.number(),
  /** Runs a month that bonus credits may pay for; −1 is unlimited. */
  optimizations_limit: v.number(),
  avatar_url: v.nullish(v.string()),
  created_at: v.string(),
  updated_at: v.string(),
});
export type User = v.InferOutput<typeof User>;

/** `data` of login, sign-up and session: `token` and `access_token` are the same string. */
export const SessionReply = v.object({
  token: v.string(),
  access_token: v.string(),
  /** ISO time at which the access token ends. */
  expires_at: v.string(),
  /** Seconds until then. */
  expires_in: v.number(),
  user: User,
});
export type SessionReply = v.InferOutput<typeof SessionReply>;

/**
 * `data` of `GET /auth/session`. Null when the request carries no session: asking is no error, and a
 * visitor's console stays clean. A 401 means the same.
 */
export const SessionState = v.nullable(SessionReply);

/** `data` of sign-up. With `needsEmailVerification` there is no session yet. */
export const SignupReply = v.union([
  v.object({ needsEmailVerification: v.literal(true) }),
  v.object({ ...SessionReply.entries, needsEmailVerification: v.optional(v.literal(false)) }),
]);
export type SignupReply = v.InferOutput<typeof SignupReply>;

/** `data` of logout. */
export const LogoutReply = v.object({ ok: v.literal(true) });

/**
 * The refusals of these calls: problem code, status, the title a screen shows, and the sentence in
 * `message`. Sentences and their key words are the specification's.
 */
export const identityProblems = {
  'email-in-use': {
    status: 409,
    title: 'Email already in use',
    message: 'An account with this email already exists. Try signing in instead.',
  },
  'invalid-email': {
    status: 400,
    title: 'Invalid email address',
    message: 'Please enter a valid email address.',
  },
  'password-too-short': {
    status: 400,
    title: 'Password too short',
    message: 'Password must be at least 8 characters long.',
  },
  'password-too-weak': {
    status: 400,
    title: 'Password too weak',
    message: 'Please choose a stronger password with uppercase, lowercase, and numbers.',
  },
  'rate-limited': {
    status: 429,
    title: 'Too many attempts',
    message: 'Please wait a moment before trying again.',
  },
  'wrong-credentials': {
    status: 401,
    title: 'Login failed',
    message: 'Login failed. Please check your credentials.',
  },
  'authentication-required': {
    status: 401,
    title: 'Authentication required',
    message: 'Authentication required',
  },
} as const;
