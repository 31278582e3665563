import * as v from 'valibot';
import { Time } from '#services/platform/contract.ts';
import { Preferences } from '#services/identity/contract/preferences.ts';

/** Who is signed in: what every page reads of authentication, apart from what only forms and settings need. */

/** What a plan brings, lowest first. */
export const tiers = ['free', 'pro', 'scale'] as const;
export type Tier = (typeof tiers)[number];

/** The user, in `GET /users/me` and every session reply. */
export const User = v.object({
  id: v.pipe(v.string(), v.description("The person's id: `usr_` and 26 characters")),
  email: v.string(),
  name: v.string(),
  subscription_tier: v.picklist(tiers),
  optimizations_used: v.pipe(
    v.number(),
    v.description('Runs this month, counted like `GET /optimizations/usage`'),
  ),
  optimizations_limit: v.pipe(
    v.number(),
    v.description('Runs a month that bonus credits can pay for; −1 is unlimited'),
  ),
  avatar_url: v.nullish(
    v.pipe(v.string(), v.description("The picture's address; null if there is none")),
  ),
  preferred_dashboard: v.pipe(
    v.nullable(v.picklist(['standard', 'elite'])),
    v.description('The chosen view of the dashboard; null if none was chosen'),
  ),
  preferences: Preferences,
  created_at: Time,
  updated_at: Time,
});
export type User = v.InferOutput<typeof User>;

/**
 * `data` of login, refresh, exchange and session: `token` and `access_token` are the same string.
 * `GET /auth/session` answers null without a session, so that a visitor's console shows no error.
 */
export const SessionReply = v.object({
  token: v.pipe(
    v.string(),
    v.description('The access token, a JWT. Send it as `Authorization: Bearer …`'),
  ),
  access_token: v.pipe(v.string(), v.description('The same as `token`')),
  expires_at: v.pipe(Time, v.description('When the access token ends; ISO 8601 in UTC')),
  expires_in: v.pipe(v.number(), v.description('Seconds until the access token ends')),
  user: User,
});
export type SessionReply = v.InferOutput<typeof SessionReply>;

export const PendingToken = v.pipe(
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
