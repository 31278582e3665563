import * as v from 'valibot';
import { Time } from '#services/platform/contract.ts';
import type { EndpointList } from '#services/platform/contract.ts';
import {
  Email,
  identityLengths,
  LoginRequest,
  Name,
  NewPassword,
  Redirect,
  RememberMe,
  ResetLinkRequest,
  SignupRequest,
} from '#services/identity/contract/forms.ts';
import {
  ApiKeyReply,
  ApiKeyRequest,
  ApiKeyRow,
  apiKeyLimits,
} from '#services/identity/contract/api-keys.ts';
import { PreferencesChange } from '#services/identity/contract/preferences.ts';
import {
  DoneReply,
  PendingToken,
  SessionReply,
  SignupReply,
  User,
} from '#services/identity/contract/session.ts';

/** Requests and responses of authentication, sessions and a user's own account. */

/** Live sessions of one person: one more ends the oldest. */
export const sessionsAtMost = 10;

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
    v.description('A new address waiting to be confirmed; null if there is none'),
  ),
  onboarding_completed_at: v.nullable(Time),
  shares_statistics: v.pipe(
    v.boolean(),
    v.description(
      'Counts and scores of the runs, never text, are part of `GET /community` and `GET /optimizations/outcomes`',
    ),
  ),
  notify_run_finished: v.pipe(v.boolean(), v.description('Email when a run ends')),
  notify_low_balance: v.pipe(v.boolean(), v.description('Email when credits run low')),
});
export type Profile = v.InferOutput<typeof Profile>;

/** `PATCH /users/me`: any of these fields. */
export const ProfileChange = v.strictObject({
  name: v.optional(Name),
  preferred_dashboard: v.optional(v.nullable(v.picklist(['standard', 'elite']))),
  shares_statistics: v.optional(v.boolean("This field isn't valid.")),
  notify_run_finished: v.optional(v.boolean("This field isn't valid.")),
  notify_low_balance: v.optional(v.boolean("This field isn't valid.")),
  preferences: v.optional(PreferencesChange),
});
export type ProfileChange = v.InferOutput<typeof ProfileChange>;

const pictureTypes = ['image/png', 'image/jpeg', 'image/webp'] as const;

/** `PUT /users/me/avatar` takes the picture itself as the body. */
export const avatarLimits = {
  bytes: 256 * 1024,
  mediaTypes: pictureTypes,
} as const;

// --- links in mails ---

/** `POST /auth/resend-confirmation`: the address, or the `pending_token` of sign-up. */
export const ResendRequest = v.union([
  v.strictObject({ email: Email, redirect: Redirect }),
  v.strictObject({ pending_token: v.pipe(PendingToken, v.maxLength(2_000)), redirect: Redirect }),
]);

/** `POST /auth/magic-link`. With a PKCE challenge the link yields a code for the holder of the verifier. */
export const MagicLinkRequest = v.strictObject({
  email: Email,
  redirect: Redirect,
  remember_me: RememberMe,
  code_challenge: v.optional(
    v.pipe(
      v.string(),
      v.regex(/^[\w-]{43}$/, "This field isn't valid."),
      v.description('PKCE: the SHA-256 of a verifier, in base64url. The link then returns a code'),
    ),
  ),
  code_challenge_method: v.optional(v.literal('S256', 'Only S256 is supported.')),
});
export type MagicLinkRequest = v.InferOutput<typeof MagicLinkRequest>;

/** The kinds of emailed link, as in `/auth/link/{kind}#{token}` and `POST /auth/links/{kind}`. */
export const linkKinds = ['confirm', 'magic', 'reset', 'email', 'undo'] as const;
export type LinkKind = (typeof linkKinds)[number];

const OpaqueToken = v.pipe(
  v.string("This link isn't valid."),
  v.regex(/^[\w-]{43}$/, "This link isn't valid."),
  v.description('From a link: 256 random bits in base64url'),
);

/** `POST /auth/links/{kind}`. */
export const LinkRequest = v.strictObject({ token: OpaqueToken });

/** `data` of `POST /auth/links/{kind}`: the page to go to, a path of this site. */
export const LinkReply = v.object({
  redirect: v.pipe(v.string(), v.description('The page to go to next, a path on this site')),
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
  v.description('One of the token pair after the `#` of the URL a link leads to; works once'),
);

/** `POST /auth/exchange`: the one-time pair of a link, or its code with the verifier. */
export const ExchangeRequest = v.union([
  v.strictObject({ access_token: LinkJws, refresh_token: LinkJws }),
  v.strictObject({
    code: OpaqueToken,
    code_verifier: v.pipe(
      v.string(),
      v.regex(/^[A-Za-z0-9._~-]{43,128}$/, "This field isn't valid."),
      v.description('PKCE: the verifier that the challenge was made from'),
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
  revoke_api_keys: v.optional(
    v.pipe(v.boolean("This field isn't valid."), v.description('Also revoke all API keys')),
    false,
  ),
});

/** `POST /auth/email/change`. */
export const EmailChangeRequest = v.strictObject({ email: Email, password: CurrentPassword });

/** `POST /auth/reauthenticate`: proof of who is there, for five minutes. */
export const ReauthenticateRequest = v.strictObject({ password: CurrentPassword });

/** `DELETE /users/me`: the password, unless the session was proved in the last five minutes. */
export const DeleteAccountRequest = v.strictObject({ password: v.optional(CurrentPassword) });

// --- sessions ---

/** One row of `GET /auth/sessions`, newest use first. */
export const SessionRow = v.object({
  id: v.pipe(v.string(), v.description("The session's id: `ses_` and 26 characters")),
  current: v.pipe(v.boolean(), v.description('The current session')),
  device: v.pipe(
    v.string(),
    v.description('Such as `Firefox on Linux`; empty if the browser did not say'),
  ),
  address: v.pipe(v.string(), v.description('The network address where the session began')),
  method: v.pipe(
    v.picklist(['password', 'confirm', 'magic', 'reset', 'signup']),
    v.description('How the session began'),
  ),
  remembered: v.pipe(
    v.boolean(),
    v.description('Kept for up to 30 days (7 without use) instead of until the browser closes'),
  ),
  created_at: Time,
  last_used_at: Time,
  expires_at: v.pipe(Time, v.description('When it ends if it is not used again; ISO 8601 in UTC')),
});
export type SessionRow = v.InferOutput<typeof SessionRow>;

/** `data` of `POST /auth/sessions/end-others`. */
export const EndedReply = v.object({
  ended: v.pipe(v.number(), v.description('Number of sessions ended')),
});

/** `data` of every `DELETE`. */
export const DeletedReply = v.object({
  id: v.pipe(v.string(), v.description('The id of the deleted item')),
  deleted: v.literal(true),
});

// --- export ---

/** `data` of `GET /users/me/export`: everything stored about the user, as tables of rows and as CSV. */
export const ExportReply = v.object({
  exported_at: Time,
  tables: v.pipe(
    v.record(v.string(), v.array(v.record(v.string(), v.unknown()))),
    v.description('Rows by table name'),
  ),
  csv: v.pipe(
    v.record(v.string(), v.string()),
    v.description('The same tables as CSV: file contents by file name'),
  ),
});
export type ExportReply = v.InferOutput<typeof ExportReply>;

/** Authentication, sessions, and a user's own account. */
export const identityEndpoints = {
  'POST /auth/signup': {
    summary: 'Sign up',
    description:
      'Creates an account and emails a confirmation link. If confirmation is not required, the response is a session.',
    access: 'everyone',
    body: SignupRequest,
    status: 201,
    reply: SignupReply,
    refuses: [409],
  },
  'POST /auth/login': {
    summary: 'Sign in with a password',
    description:
      'The response contains the access token. The refresh token is set as a cookie. An unknown address and a wrong password get the same response.',
    access: 'everyone',
    body: LoginRequest,
    status: 200,
    reply: SessionReply,
    refuses: [401, 403],
  },
  'POST /auth/resend-confirmation': {
    summary: 'Email another confirmation link',
    description: 'The response is the same whether or not an account exists.',
    access: 'everyone',
    body: ResendRequest,
    status: 200,
    reply: DoneReply,
  },
  'POST /auth/magic-link': {
    summary: 'Email a sign-in link',
    description: 'The response is the same whether or not an account exists.',
    access: 'everyone',
    body: MagicLinkRequest,
    status: 200,
    reply: DoneReply,
  },
  'POST /auth/password/reset-request': {
    summary: 'Email a password reset link',
    description: 'The response is the same whether or not an account exists.',
    access: 'everyone',
    body: ResetLinkRequest,
    status: 200,
    reply: DoneReply,
  },
  'POST /auth/links/{kind}': {
    summary: 'Use a link from an email',
    description: 'Each link works once. The response says where to go next.',
    access: 'everyone',
    body: LinkRequest,
    status: 200,
    reply: LinkReply,
    refuses: [404, 409],
  },
  'POST /auth/exchange': {
    summary: 'Exchange a link for a session',
    description:
      "Takes a link's one-time token pair, or its code and the PKCE verifier. Both work once, within 60 seconds.",
    access: 'everyone',
    body: ExchangeRequest,
    status: 200,
    reply: SessionReply,
    refuses: [401, 409],
  },
  'POST /auth/password/reset': {
    summary: 'Set a new password with a reset link',
    description: "Takes the link's ticket. All other sessions end.",
    access: 'everyone',
    body: PasswordResetRequest,
    status: 200,
    reply: SessionReply,
    refuses: [409],
  },
  'GET /auth/session': {
    summary: 'Get the session of the cookie',
    description:
      'Null without a cookie, or if its session has ended. The refresh token stays the same.',
    access: 'cookie',
    status: 200,
    reply: v.nullable(SessionReply),
    refuses: [403],
  },
  'POST /auth/refresh': {
    summary: 'Get a new access token',
    description:
      'Replaces the cookie. Using a replaced cookie again after more than 10 seconds ends its session.',
    access: 'cookie',
    status: 200,
    reply: SessionReply,
  },
  'POST /auth/logout': {
    summary: 'End the session',
    description:
      'Ends the session of the cookie, the bearer token, or both. Without either, nothing changes.',
    access: 'everyone',
    status: 200,
    reply: DoneReply,
  },
  'GET /auth/sessions': {
    summary: "List the user's sessions",
    description: `Most recently used first. A user has at most ${sessionsAtMost}: signing in once more ends the oldest.`,
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
    description: 'The session making this call continues.',
    access: 'person',
    status: 200,
    reply: EndedReply,
  },
  'POST /auth/reauthenticate': {
    summary: 'Confirm the password',
    description: 'For the next five minutes, the session can export or delete the account.',
    access: 'person',
    body: ReauthenticateRequest,
    status: 200,
    reply: DoneReply,
    refuses: [409],
  },
  'POST /auth/password/change': {
    summary: 'Change the password',
    description:
      'Requires the current password. All other sessions end, outstanding links stop working, and the user gets an email.',
    access: 'person',
    body: PasswordChangeRequest,
    status: 200,
    reply: DoneReply,
    refuses: [409],
  },
  'POST /auth/email/change': {
    summary: 'Change the email address',
    description:
      'Requires the password. The address changes once the link sent to the new address is used.',
    access: 'person',
    body: EmailChangeRequest,
    status: 200,
    reply: DoneReply,
    refuses: [409],
  },
  'GET /users/me': {
    summary: 'Get the profile',
    description: 'Returns the profile of the signed-in user.',
    access: 'person',
    status: 200,
    reply: Profile,
  },
  'PATCH /users/me': {
    summary: 'Change the profile',
    description: 'Changes only the fields that are sent.',
    access: 'person',
    body: ProfileChange,
    status: 200,
    reply: Profile,
  },
  'DELETE /users/me': {
    summary: 'Delete the account',
    description:
      'Requires the password, or a sign-in within the last five minutes. Cancels runs, ends the plan, refunds what is refundable, and erases all text.',
    access: 'person',
    body: DeleteAccountRequest,
    status: 200,
    reply: DeletedReply,
    refuses: [403, 409],
  },
  'GET /users/me/export': {
    summary: 'Export all account data',
    description: 'Requires a sign-in within the last five minutes.',
    access: 'person',
    status: 200,
    reply: ExportReply,
    refuses: [403],
  },
  'PUT /users/me/avatar': {
    summary: 'Set the picture',
    description: 'Send the file itself as the body: up to 256 kB and 4 megapixels.',
    access: 'person',
    sends: pictureTypes,
    status: 200,
    reply: Profile,
    refuses: [413, 415, 503],
  },
  'DELETE /users/me/avatar': {
    summary: 'Remove the picture',
    description: 'Without a picture, nothing changes.',
    access: 'person',
    status: 200,
    reply: DeletedReply,
  },
  'GET /api-keys': {
    summary: 'List API keys',
    description: "The user's live keys, newest first.",
    access: 'person',
    status: 200,
    reply: v.array(ApiKeyRow),
  },
  'POST /api-keys': {
    summary: 'Create an API key',
    description: `Requires a sign-in within the last five minutes. The key is shown only in this response. A user can have ${apiKeyLimits.live} keys.`,
    access: 'person',
    body: ApiKeyRequest,
    status: 201,
    reply: ApiKeyReply,
    refuses: [403, 409],
  },
  'DELETE /api-keys/{id}': {
    summary: 'Revoke an API key',
    description:
      'It is refused from the next call on, and its streams close within a second. Runs it started continue.',
    access: 'person',
    status: 200,
    reply: DeletedReply,
  },
  'GET /avatars/{id}': {
    summary: 'Get a picture',
    description: 'Public: the address cannot be guessed.',
    access: 'everyone',
    status: 200,
    files: ['image/webp'],
  },
} as const satisfies EndpointList;
