import * as v from 'valibot';
import { Time } from '#services/platform/contract.ts';
import type { EndpointList } from '#services/platform/contract.ts';

/**
 * Requests and responses of authentication. The forms in the browser and the routes on the server parse
 * with the same schemas, so the sentences beside a field are written once, here.
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

const Email = v.pipe(
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

const Name = v.pipe(
  v.string('Full name is required'),
  v.trim(),
  v.nonEmpty('Full name is required'),
  v.regex(plainName, 'Name may not contain line breaks or hidden characters'),
  v.minLength(identityLengths.nameMin, 'Name must be at least 2 characters'),
  v.maxLength(identityLengths.nameMax, 'Name must be at most 80 characters'),
);

/** One pattern with look-aheads, because a schema generator keeps only the first of several. */
const passwordComposition = /^(?=[\s\S]*[a-z])(?=[\s\S]*[A-Z])(?=[\s\S]*[0-9])/;

const NewPassword = v.pipe(
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

const RememberMe = v.optional(
  v.pipe(
    v.boolean('This field is not valid.'),
    v.description('Keeps the session for up to 30 days instead of until the browser closes'),
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

const Redirect = v.optional(
  v.pipe(
    v.string(),
    v.maxLength(2_000),
    v.description('A path of this site to go to afterwards; anything else is ignored'),
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
      v.description('The date of the terms that the person accepted; only the current one'),
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

/** What a plan brings, lowest first. */
export const tiers = ['free', 'pro', 'scale'] as const;
export type Tier = (typeof tiers)[number];

/** The user, in `GET /users/me` and every session reply. */
export const User = v.object({
  id: v.pipe(v.string(), v.description('Of the person: `usr_` and 26 characters')),
  email: v.string(),
  name: v.string(),
  subscription_tier: v.picklist(tiers),
  optimizations_used: v.pipe(
    v.number(),
    v.description('Runs of this month, as `GET /optimizations/usage` counts them'),
  ),
  optimizations_limit: v.pipe(
    v.number(),
    v.description('Runs a month that bonus credits may pay for; −1 is unlimited'),
  ),
  avatar_url: v.nullish(v.pipe(v.string(), v.description('Of the picture; null for none'))),
  created_at: Time,
  updated_at: Time,
});
export type User = v.InferOutput<typeof User>;

/** The user in `GET` and `PATCH /users/me`: `User` and what only the user sees. */
export const Profile = v.object({
  ...User.entries,
  email_confirmed: v.boolean(),
  has_password: v.pipe(
    v.boolean(),
    v.description('False for an account that signs in by links only, until it chooses a password'),
  ),
  pending_email: v.pipe(
    v.nullable(v.string()),
    v.description('The address that a change waits to be confirmed for; null for none'),
  ),
  preferred_dashboard: v.nullable(v.picklist(['standard', 'elite'])),
  onboarding_completed_at: v.nullable(Time),
  notify_run_finished: v.pipe(v.boolean(), v.description('A mail when a run has ended')),
  notify_low_balance: v.pipe(v.boolean(), v.description('A mail when few credits are left')),
});
export type Profile = v.InferOutput<typeof Profile>;

/** `PATCH /users/me`: any of these fields. */
export const ProfileChange = v.strictObject({
  name: v.optional(Name),
  preferred_dashboard: v.optional(v.nullable(v.picklist(['standard', 'elite']))),
  notify_run_finished: v.optional(v.boolean('This field is not valid.')),
  notify_low_balance: v.optional(v.boolean('This field is not valid.')),
});
export type ProfileChange = v.InferOutput<typeof ProfileChange>;

const pictureTypes = ['image/png', 'image/jpeg', 'image/webp'] as const;

/** `PUT /users/me/avatar` takes the picture itself as the body. */
export const avatarLimits = {
  bytes: 256 * 1024,
  mediaTypes: pictureTypes,
} as const;

/**
 * `data` of login, refresh, exchange and session: `token` and `access_token` are the same string.
 * `GET /auth/session` answers null without a session, so that a visitor's console shows no error.
 */
export const SessionReply = v.object({
  token: v.pipe(
    v.string(),
    v.description('The access token, a JWT; to be sent as `Authorization: Bearer …`'),
  ),
  access_token: v.pipe(v.string(), v.description('The same as `token`')),
  expires_at: v.pipe(Time, v.description('When the access token ends; ISO 8601 in UTC')),
  expires_in: v.pipe(v.number(), v.description('Seconds until the access token ends')),
  user: User,
});
export type SessionReply = v.InferOutput<typeof SessionReply>;

const PendingToken = v.pipe(
  v.string(),
  v.description(
    'Names the address when its confirmation email is requested again, and nothing else',
  ),
);

/**
 * `data` of sign-up. With `needsEmailVerification` there is no session yet; `pending_token` then names
 * the address in `POST /auth/resend-confirmation` and grants nothing else.
 */
export const SignupReply = v.union([
  v.object({ needsEmailVerification: v.literal(true), pending_token: PendingToken }),
  v.object({ ...SessionReply.entries, needsEmailVerification: v.optional(v.literal(false)) }),
]);
export type SignupReply = v.InferOutput<typeof SignupReply>;

/** `data` of calls that return nothing, such as logout. */
export const DoneReply = v.object({ ok: v.literal(true) });
export type DoneReply = v.InferOutput<typeof DoneReply>;

// --- links in mails ---

/** `POST /auth/resend-confirmation`: the address, or the `pending_token` of sign-up. */
export const ResendRequest = v.union([
  v.strictObject({ email: Email, redirect: Redirect }),
  v.strictObject({ pending_token: v.pipe(PendingToken, v.maxLength(2_000)), redirect: Redirect }),
]);

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

/** `POST /auth/magic-link`. With a PKCE challenge the link yields a code for the holder of the verifier. */
export const MagicLinkRequest = v.strictObject({
  email: Email,
  redirect: Redirect,
  remember_me: RememberMe,
  code_challenge: v.optional(
    v.pipe(
      v.string(),
      v.regex(/^[\w-]{43}$/, 'This field is not valid.'),
      v.description('PKCE: the SHA-256 of a verifier, in base64url. The link then answers a code'),
    ),
  ),
  code_challenge_method: v.optional(v.literal('S256', 'Only S256 is supported.')),
});
export type MagicLinkRequest = v.InferOutput<typeof MagicLinkRequest>;

/** `POST /auth/password/reset-request`. */
export const ResetLinkRequest = v.strictObject({ email: Email });

/** The kinds of emailed link, as in `/auth/link/{kind}#{token}` and `POST /auth/links/{kind}`. */
export const linkKinds = ['confirm', 'magic', 'reset', 'email', 'undo'] as const;
export type LinkKind = (typeof linkKinds)[number];

const OpaqueToken = v.pipe(
  v.string('This link is not valid.'),
  v.regex(/^[\w-]{43}$/, 'This link is not valid.'),
  v.description('From a link: 256 random bits in base64url'),
);

/** `POST /auth/links/{kind}`. */
export const LinkRequest = v.strictObject({ token: OpaqueToken });

/** `data` of `POST /auth/links/{kind}`: the page to go to, a path of this site. */
export const LinkReply = v.object({
  redirect: v.pipe(v.string(), v.description('The page to go to, a path of this site')),
  /**
   * The account that the link opens: anyone can send their own link to another user, who must see that
   * it is not theirs. Unmasked, because a masked address can be imitated.
   */
  email: v.optional(v.string()),
});
export type LinkReply = v.InferOutput<typeof LinkReply>;

const LinkJws = v.pipe(
  v.string(),
  v.maxLength(2_000),
  v.description('Of the pair behind the `#` of the address that a link leads to; works once'),
);

/** `POST /auth/exchange`: the one-time pair of a link, or its code with the verifier. */
export const ExchangeRequest = v.union([
  v.strictObject({ access_token: LinkJws, refresh_token: LinkJws }),
  v.strictObject({
    code: OpaqueToken,
    code_verifier: v.pipe(
      v.string(),
      v.regex(/^[A-Za-z0-9._~-]{43,128}$/, 'This field is not valid.'),
      v.description('PKCE: what the challenge was made from'),
    ),
  }),
]);

// --- password and address ---

/** `POST /auth/password/reset`: the ticket that the reset link was exchanged for. */
export const PasswordResetRequest = v.strictObject({ token: OpaqueToken, password: NewPassword });

const CurrentPassword = v.pipe(
  v.string('Password is required'),
  v.nonEmpty('Password is required'),
  v.maxLength(identityLengths.passwordMax, 'Password must be at most 256 characters'),
);

/** `POST /auth/password/change`. */
export const PasswordChangeRequest = v.strictObject({
  current_password: CurrentPassword,
  new_password: NewPassword,
});

/** `POST /auth/email/change`. */
export const EmailChangeRequest = v.strictObject({ email: Email, password: CurrentPassword });

/** `POST /auth/reauthenticate`: proof of who is there, for five minutes. */
export const ReauthenticateRequest = v.strictObject({ password: CurrentPassword });

/** `DELETE /users/me`: the password, unless the session was proved in the last five minutes. */
export const DeleteAccountRequest = v.strictObject({ password: v.optional(CurrentPassword) });

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

// --- sessions ---

/** One row of `GET /auth/sessions`, newest use first. */
export const SessionRow = v.object({
  id: v.pipe(v.string(), v.description('Of the session: `ses_` and 26 characters')),
  current: v.pipe(v.boolean(), v.description('The one that asks')),
  device: v.pipe(
    v.string(),
    v.description('Such as `Firefox on Linux`; empty when the browser did not say'),
  ),
  address: v.pipe(v.string(), v.description('The network address that it was begun from')),
  method: v.pipe(
    v.picklist(['password', 'confirm', 'magic', 'reset', 'signup']),
    v.description('How it was begun'),
  ),
  remembered: v.pipe(
    v.boolean(),
    v.description('Kept for up to 30 days, instead of until the browser closes'),
  ),
  created_at: Time,
  last_used_at: Time,
  expires_at: v.pipe(Time, v.description('When it ends without further use; ISO 8601 in UTC')),
});
export type SessionRow = v.InferOutput<typeof SessionRow>;

/** `data` of `POST /auth/sessions/end-others`. */
export const EndedReply = v.object({
  ended: v.pipe(v.number(), v.description('Sessions that were ended')),
});

/** `data` of every `DELETE`. */
export const DeletedReply = v.object({
  id: v.pipe(v.string(), v.description('The id of what was deleted')),
  deleted: v.literal(true),
});

// --- export ---

/** `data` of `GET /users/me/export`: everything stored about the user, as tables of rows and as CSV. */
export const ExportReply = v.object({
  exported_at: Time,
  tables: v.pipe(
    v.record(v.string(), v.array(v.record(v.string(), v.unknown()))),
    v.description('Rows by the name of their table'),
  ),
  csv: v.pipe(
    v.record(v.string(), v.string()),
    v.description('The same tables: the content of a CSV file by its name'),
  ),
});
export type ExportReply = v.InferOutput<typeof ExportReply>;

/** Authentication, sessions, and a user's own account. */
export const identityEndpoints = {
  'POST /auth/signup': {
    summary: 'Sign up',
    description:
      'Creates an account and mails a link that confirms the address. Where confirmation is not required, the response is a session.',
    access: 'everyone',
    body: SignupRequest,
    status: 201,
    reply: SignupReply,
    refuses: [409],
  },
  'POST /auth/login': {
    summary: 'Sign in with a password',
    description:
      'The response holds the access token; the refresh token is a cookie. An unknown address and a wrong password get the same answer.',
    access: 'everyone',
    body: LoginRequest,
    status: 200,
    reply: SessionReply,
    refuses: [401, 403],
  },
  'POST /auth/resend-confirmation': {
    summary: 'Mail another confirmation link',
    description: 'The answer is the same whether or not there is an account.',
    access: 'everyone',
    body: ResendRequest,
    status: 200,
    reply: DoneReply,
  },
  'POST /auth/magic-link': {
    summary: 'Mail a sign-in link',
    description: 'The answer is the same whether or not there is an account.',
    access: 'everyone',
    body: MagicLinkRequest,
    status: 200,
    reply: DoneReply,
  },
  'POST /auth/password/reset-request': {
    summary: 'Mail a link for a new password',
    description: 'The answer is the same whether or not there is an account.',
    access: 'everyone',
    body: ResetLinkRequest,
    status: 200,
    reply: DoneReply,
  },
  'POST /auth/links/{kind}': {
    summary: 'Use a mailed link',
    description: 'Each link works once. The answer says where to go next.',
    access: 'everyone',
    body: LinkRequest,
    status: 200,
    reply: LinkReply,
    refuses: [404, 409],
  },
  'POST /auth/exchange': {
    summary: 'Exchange a link for a session',
    description:
      'Takes the one-time pair of a link, or its code and the PKCE verifier. Both work once and for at most 60 seconds.',
    access: 'everyone',
    body: ExchangeRequest,
    status: 200,
    reply: SessionReply,
    refuses: [401, 409],
  },
  'POST /auth/password/reset': {
    summary: 'Set a new password with a reset link',
    description: 'Takes the ticket of the link. All other sessions end.',
    access: 'everyone',
    body: PasswordResetRequest,
    status: 200,
    reply: SessionReply,
    refuses: [409],
  },
  'GET /auth/session': {
    summary: "The session of the request's cookie",
    description:
      'Null without a cookie, or when its session has ended. The refresh token stays the same.',
    access: 'cookie',
    status: 200,
    reply: v.nullable(SessionReply),
    refuses: [403],
  },
  'POST /auth/refresh': {
    summary: 'Get a new access token',
    description:
      'Takes the cookie and replaces it. A replaced cookie that is used again after more than 10 seconds ends its session.',
    access: 'cookie',
    status: 200,
    reply: SessionReply,
  },
  'POST /auth/logout': {
    summary: 'End the session',
    description:
      'Ends the session of the cookie, of the bearer token, or of both. Without either it changes nothing.',
    access: 'everyone',
    status: 200,
    reply: DoneReply,
  },
  'GET /auth/sessions': {
    summary: "List the user's sessions",
    description: 'Newest use first.',
    access: 'person',
    status: 200,
    reply: v.array(SessionRow),
  },
  'DELETE /auth/sessions/{id}': {
    summary: 'End one session',
    description: 'Its streams and sockets close within a second.',
    access: 'person',
    status: 200,
    reply: DeletedReply,
  },
  'POST /auth/sessions/end-others': {
    summary: 'End all other sessions',
    description: 'The session of this call stays.',
    access: 'person',
    status: 200,
    reply: EndedReply,
  },
  'POST /auth/reauthenticate': {
    summary: 'Confirm the password',
    description: 'For five minutes the session may then export or delete the account.',
    access: 'person',
    body: ReauthenticateRequest,
    status: 200,
    reply: DoneReply,
    refuses: [409],
  },
  'POST /auth/password/change': {
    summary: 'Change the password',
    description:
      'Needs the current password. All other sessions end, outstanding links become void, and the user gets an email.',
    access: 'person',
    body: PasswordChangeRequest,
    status: 200,
    reply: DoneReply,
    refuses: [409],
  },
  'POST /auth/email/change': {
    summary: 'Change the email address',
    description:
      'Needs the password. The address changes only when the link in the mail to the new address is used.',
    access: 'person',
    body: EmailChangeRequest,
    status: 200,
    reply: DoneReply,
    refuses: [409],
  },
  'GET /users/me': {
    summary: 'The profile',
    description: 'The profile of the signed-in user.',
    access: 'person',
    status: 200,
    reply: Profile,
  },
  'PATCH /users/me': {
    summary: 'Change the profile',
    description: 'Changes the fields that are sent and no others.',
    access: 'person',
    body: ProfileChange,
    status: 200,
    reply: Profile,
  },
  'DELETE /users/me': {
    summary: 'Delete the account',
    description:
      'Needs the password, or a sign-in of the last five minutes. Runs are cancelled, plans end, what can be refunded is refunded, and all texts are erased.',
    access: 'person',
    body: DeleteAccountRequest,
    status: 200,
    reply: DeletedReply,
    refuses: [403, 409],
  },
  'GET /users/me/export': {
    summary: 'Export all data of the account',
    description: 'Needs a sign-in of the last five minutes.',
    access: 'person',
    status: 200,
    reply: ExportReply,
    refuses: [403],
  },
  'PUT /users/me/avatar': {
    summary: 'Set the picture',
    description: 'The file itself is the body: at most 256 kB and 4 megapixels.',
    access: 'person',
    sends: pictureTypes,
    status: 200,
    reply: Profile,
    refuses: [413, 415, 503],
  },
  'DELETE /users/me/avatar': {
    summary: 'Remove the picture',
    description: 'Without a picture it changes nothing.',
    access: 'person',
    status: 200,
    reply: DeletedReply,
  },
  'GET /avatars/{id}': {
    summary: 'A picture',
    description: 'Public, because its address cannot be guessed.',
    access: 'everyone',
    status: 200,
    files: ['image/webp'],
  },
} as const satisfies EndpointList;
