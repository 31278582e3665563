import { useSyncExternalStore } from 'react';
import * as v from 'valibot';
import type { MagicLinkRequest, ResendRequest } from '#services/identity/contract.ts';
import type {
  LoginRequest,
  ResetLinkRequest,
  SignupRequest,
} from '#services/identity/contract/forms.ts';
import {
  DoneReply,
  SessionReply as SessionReplySchema,
  SignupReply as SignupReplySchema,
  type SignupReply,
  type User,
} from '#services/identity/contract/session.ts';
import { removeStored } from '#web/consent/consent.ts';
import { createSignal } from '#web/ui/signal.ts';
import {
  accessTokenLeftMs,
  ApiProblem,
  isTransient,
  read,
  renewAccessTokenWith,
  retried,
  setAccessToken,
  write,
} from '#web/api/api.ts';
import { writeIn } from '#services/platform/locale.ts';
import { inOneTab, checkRegularly, renewalTimes } from './renewal.ts';

/**
 * Who is signed in. The server's cookie is the truth; this page only holds a short-lived access
 * token in memory. It requests one with `GET /auth/session` at the start and whenever a token is
 * missing, and rotates the cookie with `POST /auth/refresh` before a token expires.
 *
 *   unknown ──► anonymous ◄──► authenticated ──► expired (signed in here, but the session ended)
 *      └──────► unreachable (no response; a retry may help)
 */
export type Session =
  | { readonly status: 'unknown' }
  | { readonly status: 'anonymous' }
  | { readonly status: 'authenticated'; readonly user: User }
  | { readonly status: 'expired'; readonly user: User }
  | { readonly status: 'unreachable'; readonly problem: ApiProblem };

/** A reply that carries a session. The times are optional: see `lifetimeSeconds`. */
export const SignedInReply = v.object({
  token: v.string(),
  expires_at: v.optional(v.string()),
  expires_in: v.optional(v.number()),
  user: SessionReplySchema.entries.user,
});
type SignedInReply = v.InferOutput<typeof SignedInReply>;
const SessionState = v.nullable(SignedInReply);

const unknown: Session = { status: 'unknown' };
let session: Session = unknown;
const changes = createSignal();
const ends = createSignal();
const resumptions = createSignal();

/**
 * What tabs of this browser publish to each other; never a token. Opened by `connectSession`,
 * because an open channel would keep the prerenderer's process alive.
 */
type Word = 'signed-in' | 'signed-out' | 'user-updated';
let tabs: BroadcastChannel | undefined;

function publish(word: Word): void {
  tabs?.postMessage(word);
}

/** For debugging; it names no user and no token. */
export function note(
  event: 'signed in' | 'signed out' | 'token refreshed' | 'user updated' | 'password recovery',
): void {
  console.debug(`Session: ${event}`);
}

function become(next: Session): Session {
  session = next;
  // Before anything is drawn with it.
  writeIn('user' in next ? next.user.preferences.locale : null);
  changes.emit();
  return next;
}

export function useSession(): Session {
  return useSyncExternalStore(
    changes.subscribe,
    () => session,
    () => unknown,
  );
}

/** Whose session this is, also once it has expired; null for a visitor. */
export function sessionUserId(): string | null {
  return 'user' in session ? session.user.id : null;
}

/** Calls back when a user leaves, so that caches, drafts and streams can be emptied. */
export const onSessionEnd = ends.subscribe;

/**
 * Calls back when the same user continues after the session had ended: failed reads may work now.
 */
export const onSessionResume = resumptions.subscribe;

// ── reading the session ─────────────────────────────────────────────────────────────────────────

let pending: Promise<Session> | undefined;
/** Counts sign-ins and sign-outs. A reply to a request of an earlier era concerns another user. */
let era = 0;

function beginEra(): void {
  era += 1;
  pending = undefined;
}

/** Reads the session without changing it. */
export function restoreSession(): Promise<Session> {
  return shared(mint);
}

/** Concurrent calls share one request, whichever of the two it is. */
function shared(request: () => Promise<SignedInReply | null>): Promise<Session> {
  if (pending) return pending;
  const mine = sessionFrom(request).finally(() => {
    if (pending === mine) pending = undefined;
  });
  pending = mine;
  return mine;
}

const mint = (): Promise<SignedInReply | null> => read('/auth/session', SessionState);

/** Retried at once without a response: the server still recognises the repeat. */
const rotate = (): Promise<SignedInReply | null> =>
  retried(() =>
    write('POST', '/auth/refresh', {}, SessionState, {
      timeoutMs: renewalTimes.tryMs,
      // Leaving the page between the server's reply and its cookie would lose the session.
      keepalive: true,
    }),
  );

function renewWhenDue(): void {
  if (session.status !== 'authenticated') return;
  if ((accessTokenLeftMs() ?? 0) >= renewalTimes.aheadMs) return;
  void shared(() => inOneTab(rotate, mint));
}

/** The session, read from the server when unknown. */
export function knownSession(): Promise<Session> {
  return session.status === 'unknown' || session.status === 'unreachable'
    ? restoreSession()
    : Promise.resolve(session);
}

async function sessionFrom(request: () => Promise<SignedInReply | null>): Promise<Session> {
  const begun = era;
  try {
    const reply = await request();
    if (begun !== era) return await knownSession();
    return reply ? signedIn(reply) : signedOutByServer();
  } catch (error) {
    if (!(error instanceof ApiProblem)) throw error;
    console.warn(`Token refresh failed: ${error.message}`);
    if (begun !== era) return knownSession();
    if (error.status === 401) return signedOutByServer();
    // A signed-in user stays signed in while the network is down.
    if (session.status === 'authenticated' || session.status === 'expired') return session;
    return become({ status: 'unreachable', problem: error });
  }
}

/** Counted from now, so that a wrong clock on this machine does no harm. */
function lifetimeSeconds({ expires_in, expires_at }: SignedInReply): number {
  if (expires_in !== undefined) return expires_in;
  const endsAt = Date.parse(expires_at ?? '');
  return Number.isNaN(endsAt) ? renewalTimes.fallbackSeconds : (endsAt - Date.now()) / 1000;
}

let lastUserId: string | null = null;

function signedIn(reply: SignedInReply): Session {
  const before = session;
  setAccessToken({
    token: reply.token,
    expires_at: new Date(Date.now() + lifetimeSeconds(reply) * 1000).toISOString(),
    userId: reply.user.id,
  });
  // Another user on the same page must not see the first one's cached data.
  const isOtherUser = lastUserId !== null && lastUserId !== reply.user.id;
  if (isOtherUser) {
    removeDrafts(reply.user.id);
    ends.emit();
  }
  lastUserId = reply.user.id;
  note(before.status === 'authenticated' ? 'token refreshed' : 'signed in');
  const next = become({ status: 'authenticated', user: reply.user });
  if (before.status === 'expired' && !isOtherUser) {
    resumptions.emit();
  }
  return next;
}

function signedOutByServer(): Session {
  setAccessToken(null);
  if (session.status === 'expired') return session;
  if (session.status === 'authenticated') {
    note('signed out');
    return become({ status: 'expired', user: session.user });
  }
  return become({ status: 'anonymous' });
}

// ── signing in ──────────────────────────────────────────────────────────────────────────────────

/** A session that this tab requested; the other tabs are notified. */
export function enter(reply: SignedInReply): void {
  beginEra();
  signedIn(reply);
  publish('signed-in');
}

export async function login(request: LoginRequest): Promise<void> {
  enter(await write('POST', '/auth/login', request, SignedInReply));
}

/** Returns the reply; one without a session means the address must be confirmed first. */
export async function signup(request: SignupRequest): Promise<SignupReply> {
  const reply = await write('POST', '/auth/signup', request, SignupReplySchema);
  if ('token' in reply) enter(reply);
  return reply;
}

// ── emails and their links ──────────────────────────────────────────────────────────────────────

export async function requestMagicLink(
  request: v.InferInput<typeof MagicLinkRequest>,
): Promise<void> {
  await write('POST', '/auth/magic-link', request, DoneReply);
}

export async function requestReset(request: v.InferInput<typeof ResetLinkRequest>): Promise<void> {
  await write('POST', '/auth/password/reset-request', request, DoneReply);
}

/** Takes the address itself, or what sign-up returned in its place. */
export async function resendConfirmation(
  request: v.InferInput<typeof ResendRequest>,
): Promise<void> {
  await write('POST', '/auth/resend-confirmation', request, DoneReply);
}

// ── changes and signing out ─────────────────────────────────────────────────────────────────────

/** Shows a changed user here and in the other tabs. */
export function updateUser(user: User): void {
  if (session.status !== 'authenticated' && session.status !== 'expired') return;
  if (session.user.id !== user.id || !isDifferent(session.user, user)) return;
  note('user updated');
  become({ ...session, user });
  publish('user-updated');
}

function isDifferent(one: User, other: User): boolean {
  return (
    [
      'name',
      'email',
      'avatar_url',
      'subscription_tier',
      'preferred_dashboard',
      'preferences',
    ] as const
  ).some((field) => JSON.stringify(one[field] ?? null) !== JSON.stringify(other[field] ?? null));
}

/** Sends what is unsaved; null when everything is saved. */
type Finish = () => Promise<unknown> | null;
const finishes = new Set<Finish>();
/** The longest that unsaved changes hold up a logout. */
const finishMs = 2_000;

/** Calls back before a logout, while calls still carry the user's token. */
export function beforeLogout(finish: Finish): () => void {
  finishes.add(finish);
  return () => finishes.delete(finish);
}

/**
 * Signs out here and in the other tabs, at once unless changes are unsaved. The call to the server is
 * retried until it succeeds, because the cookie outlives this page.
 */
export function logout(): void {
  const unsaved = [...finishes].flatMap((finish) => finish() ?? []);
  if (unsaved.length === 0) leaveEverywhere();
  else void leaveAfter(unsaved);
}

async function leaveAfter(unsaved: Promise<unknown>[]): Promise<void> {
  const left = era;
  await Promise.race([
    Promise.allSettled(unsaved),
    new Promise((resolve) => setTimeout(resolve, finishMs)),
  ]);
  // A second press has signed out, or someone else has signed in.
  if (era === left) leaveEverywhere();
}

function leaveEverywhere(): void {
  leave();
  publish('signed-out');
  void endOnServer();
}

function leave(): void {
  beginEra();
  setAccessToken(null);
  lastUserId = null;
  removeDrafts();
  ends.emit();
  note('signed out');
  become({ status: 'anonymous' });
}

async function endOnServer(): Promise<void> {
  const left = era;
  for (let delayMs = 1_000; ; delayMs = Math.min(delayMs * 2, 60_000)) {
    try {
      await write('POST', '/auth/logout', {}, DoneReply, { keepalive: true });
      return;
    } catch (error) {
      if (!isTransient(error)) return;
      await new Promise((resolve) => setTimeout(resolve, delayMs));
      // A new session began meanwhile and must not be ended.
      if (era !== left) return;
    }
  }
}

/** Drafts are private: all are removed at sign-out, and all but the new user's when users change. */
function removeDrafts(exceptOf?: string): void {
  removeStored(
    (key) => key.startsWith('sevenfold.draft.') && !key.startsWith(`sevenfold.draft.${exceptOf}.`),
  );
}

/**
 * Connects the session with this page: token renewal, other tabs, and removal of tokens in storage.
 * Called once, by the browser's entry file.
 */
export function connectSession(): void {
  renewAccessTokenWith(restoreSession);
  removeStored((key) => key === 'auth_token' || key === 'auth-session');
  tabs = new BroadcastChannel('sevenfold');
  tabs.addEventListener('message', ({ data: word }: MessageEvent<Word>) => {
    if (word === 'signed-out') {
      for (const finish of finishes) void finish();
      leave();
    }
    if (word === 'user-updated') void restoreSession();
    if (word === 'signed-in') {
      // A request under way predates the sign-in.
      beginEra();
      void restoreSession();
    }
  });
  checkRegularly(renewWhenDue);
  void restoreSession();
}
