import * as v from 'valibot';

/**
 * What the forms of visitors send. The browser and the server parse with the same schemas, so the sentences
 * beside a field are written once, here.
 */

/** Characters. A password is never cut short, trimmed or changed in case. */
export const identityLengths = {
  email: 254,
  nameMin: 2,
  nameMax: 80,
  passwordAtLogin: 6,
  passwordMin: 8,
  passwordMax: 256,
} as const;

/**
 * Date of the current terms and privacy policy. The pages show it, the form sends it, sign-up accepts no
 * other, and it is stored with the account.
 */
export const policyVersion = '2026-11-20' as const;

/** Sentences beside a field that also have a refusal of their own in `identityProblems`. */
export const fieldSentences = {
  'invalid-email': 'Please enter a valid email address',
  'password-too-short': 'Password must be at least 8 characters',
  'password-too-weak':
    'Password must contain at least one uppercase letter, one lowercase letter, and one number',
} as const;

export const Email = v.pipe(
  v.string('Email is required'),
  v.trim(),
  v.nonEmpty('Email is required'),
  v.maxLength(identityLengths.email, fieldSentences['invalid-email']),
  v.email(fieldSentences['invalid-email']),
);

/** "a•••@example.com": the owner recognises it, and no one else can read it. */
export function maskedEmail(email: string): string {
  const at = email.lastIndexOf('@');
  return at < 1 ? '•••' : `${email.slice(0, 1)}•••${email.slice(at)}`;
}

/**
 * Control characters, line breaks and direction marks would break a line that shows the name. The
 * joiners of emoji and of some scripts are allowed. Written as code points, because not every reader of
 * the description supports `\p{…}`.
 */
// oxlint-disable-next-line no-control-regex
const plainName = /^[^\u0000-\u001F\u007F-\u009F\u2028-\u202E\u2066-\u2069]*$/u;

export const Name = v.pipe(
  v.string('Full name is required'),
  v.trim(),
  v.nonEmpty('Full name is required'),
  v.regex(plainName, "Name can't contain line breaks or hidden characters"),
  v.minLength(identityLengths.nameMin, 'Name must be at least 2 characters'),
  v.maxLength(identityLengths.nameMax, 'Name must be at most 80 characters'),
);

/** One pattern with look-aheads, because a schema generator keeps only the first of several. */
const passwordComposition = /^(?=[\s\S]*[a-z])(?=[\s\S]*[A-Z])(?=[\s\S]*[0-9])/;

export const NewPassword = v.pipe(
  v.string('Password is required'),
  v.nonEmpty('Password is required'),
  v.minLength(identityLengths.passwordMin, fieldSentences['password-too-short']),
  v.maxLength(identityLengths.passwordMax, 'Password must be at most 256 characters'),
  v.regex(passwordComposition, fieldSentences['password-too-weak']),
);

/**
 * The rules of a new password one by one, for a checklist that follows the user's typing. Together they
 * accept exactly what `SignupRequest` accepts for `password`, except for the maximum length.
 */
export const passwordRules = [
  { id: 'length', words: 'At least 8 characters', met: (password: string) => password.length >= 8 },
  { id: 'lower', words: 'One lowercase letter', met: (password: string) => /[a-z]/.test(password) },
  { id: 'upper', words: 'One uppercase letter', met: (password: string) => /[A-Z]/.test(password) },
  { id: 'digit', words: 'One number', met: (password: string) => /[0-9]/.test(password) },
] as const;

export const RememberMe = v.optional(
  v.pipe(
    v.boolean("This field isn't valid."),
    v.description(
      'Keeps the session for up to 30 days (7 without use) instead of until the browser closes',
    ),
  ),
  false,
);

/**
 * `POST /auth/login`. The server does not apply the form's minimum of six characters: any wrong pair gets
 * the same response.
 */
export const LoginRequest = v.strictObject({
  email: Email,
  password: v.pipe(
    v.string('Password is required'),
    v.nonEmpty('Password is required'),
    v.maxLength(identityLengths.passwordMax, 'Password must be at most 256 characters'),
  ),
  remember_me: RememberMe,
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

export const Redirect = v.optional(
  v.pipe(
    v.string(),
    v.maxLength(2_000),
    v.description('A path on this site to go to afterward; anything else is ignored'),
  ),
);

/** `POST /auth/signup`. */
export const SignupRequest = v.strictObject({
  name: Name,
  email: Email,
  password: NewPassword,
  /** Without it no terms are stored as accepted. */
  terms_version: v.optional(
    v.pipe(
      v.literal(
        policyVersion,
        `The terms have changed. Version ${policyVersion} is current: reload the page, read it, and accept it.`,
      ),
      v.description('The date of the terms that the person accepts; only the current one is valid'),
    ),
  ),
  redirect: Redirect,
});
export type SignupRequest = v.InferOutput<typeof SignupRequest>;

const RepeatedPassword = v.pipe(
  v.string('Please confirm your password'),
  v.nonEmpty('Please confirm your password'),
);

/** The sign-up form: the request's fields, the repeated password and the checkbox. */
export const SignupForm = v.pipe(
  v.strictObject({
    name: Name,
    email: Email,
    password: NewPassword,
    confirmPassword: RepeatedPassword,
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

/** The form of a new password that is typed twice. */
export const NewPasswordForm = v.pipe(
  v.strictObject({
    password: NewPassword,
    confirmPassword: RepeatedPassword,
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

/** `POST /auth/password/reset-request`. */
export const ResetLinkRequest = v.strictObject({ email: Email });

/**
 * The path if it is one of this site, else null: without a scheme, a host, or a backslash or control
 * character that a browser would read as one. Anyone can put a path into a link or a request.
 */
export function ownPath(candidate: string | undefined, origin: string): string | null {
  if (!candidate || !candidate.startsWith('/') || /^\/[/\\]|[\\\p{Cc}]/u.test(candidate))
    return null;
  if (!URL.canParse(candidate, origin)) return null;
  const url = new URL(candidate, origin);
  // `/.//host` resolves to a path with two leading slashes, which is then read as a host.
  if (url.origin !== new URL(origin).origin || url.pathname.startsWith('//')) return null;
  return `${url.pathname}${url.search}${url.hash}`;
}
