import { useSyncExternalStore } from 'react';
import * as v from 'valibot';
import {
  DoneReply,
  type ExchangeRequest,
  type LinkKind,
  LinkReply,
  type LoginRequest,
  type MagicLinkRequest,
  type PasswordResetRequest,
  type ResendRequest,
  type ResetLinkRequest,
  SessionReply as SessionReplySchema,
  SignupReply as SignupReplySchema,
  type SignupReply,
  type SignupRequest,
  type User,
} from '#services/identity/contract.ts';
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
import { inOneTab, keepLooking, renewalTimes } from './renewal.ts';

/**
 * Who is signed in. The server's cookie is the truth; this page only holds a short-lived access
 * token in memory. It asks `GET /auth/session` for one at the start and whenever a token is missing,
 * and rotates the cookie with `POST /auth/refresh` before a token ends.
 *
 *   unknown ──► anonymous ◄──► authenticated ──► expired (signed in here, but the session ended)
 *      └──────► unreachable (nobody answered; asking again may help)
 */
export type Session =
  | { readonly status: 'unknown' }
  | { readonly status: 'anonymous' }
  | { readonly status: 'authenticated'; readonly user: User }
  | { readonly status: 'expired'; readonly user: User }
  | { readonly status: 'unreachable'; readonly problem: ApiProblem };

/** A reply that carries a session. The times are optional: see `lifetimeSeconds`. */
const SignedInReply = v.object({
  token: v.string(),
  expires_at: v.optional(v.string()),
  expires_in: v.optional(v.number()),
  user: SessionReplySchema.entries.user,
});
type SignedInReply = v.InferOutput<typeof SignedInReply>;
const SessionState = v.nullable(SignedInReply);

const unknown: Session = { status: 'unknown' };
let session: Session = unknown;
const listeners = new Set<() => void>();
const endListeners = new Set<() => void>();
const resumeListeners = new Set<() => void>();

/**
 * What the tabs of this browser tell each other; never a token. Opened by `connectSession`: where
 * pages are prerendered there are no tabs, and an open channel would keep the process alive.
 */
type Word = 'signed-in' | 'signed-out' | 'user-updated';
let tabs: BroadcastChannel | undefined;

function tell(word: Word): void {
  tabs?.postMessage(word);
}

/** For whoever looks into a page that behaves oddly; it names no person and no token. */
function note(
  event: 'signed in' | 'signed out' | 'token refreshed' | 'user updated' | 'password recovery',
): void {
  console.debug(`Session: ${event}`);
}

function become(next: Session): Session {
  session = next;
  for (const listener of listeners) listener();
  return next;
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function useSession(): Session {
  return useSyncExternalStore(
    subscribe,
    () => session,
    () => unknown,
  );
}

/** Calls back when a person leaves, so that caches, drafts and streams can be emptied. */
export function onSessionEnd(listener: () => void): () => void {
  endListeners.add(listener);
  return () => endListeners.delete(listener);
}

/** Calls back when the same person goes on after the session had ended: what failed may be read now. */
export function onSessionResume(listener: () => void): () => void {
  resumeListeners.add(listener);
  return () => resumeListeners.delete(listener);
}

// ── asking the server ───────────────────────────────────────────────────────────────────────────

let asking: Promise<Session> | undefined;
/** Counts who came and went. An answer to a question of an earlier era is about somebody else. */
let era = 0;

function beginEra(): void {
  era += 1;
  asking = undefined;
}

/** Asks the server whether there is a session, without changing it. */
export function restoreSession(): Promise<Session> {
  return ask(mint);
}

/** Calls at the same time share one question, whichever of the two it is. */
function ask(question: () => Promise<SignedInReply | null>): Promise<Session> {
  if (asking) return asking;
  const mine = answered(question).finally(() => {
    if (asking === mine) asking = undefined;
  });
  asking = mine;
  return mine;
}

const mint = (): Promise<SignedInReply | null> => read('/auth/session', SessionState);

/** Repeated at once when no answer comes: the server still knows then that it is the same try. */
const rotate = (): Promise<SignedInReply | null> =>
  retried(() =>
    write('POST', '/auth/refresh', {}, SessionState, {
      timeoutMs: renewalTimes.tryMs,
      // A page that is left between the server's answer and its cookie would lose the session.
      keepalive: true,
    }),
  );

function renewWhenDue(): void {
  if (session.status !== 'authenticated') return;
  if ((accessTokenLeftMs() ?? 0) >= renewalTimes.aheadMs) return;
  void ask(() => inOneTab(rotate, mint));
}

/** The session, asked for when it is not known yet. */
export function knownSession(): Promise<Session> {
  return session.status === 'unknown' || session.status === 'unreachable'
    ? restoreSession()
    : Promise.resolve(session);
}

async function answered(question: () => Promise<SignedInReply | null>): Promise<Session> {
  const asked = era;
  try {
    const reply = await question();
    if (asked !== era) return await knownSession();
    return reply ? signedIn(reply) : signedOutByServer();
  } catch (error) {
    if (!(error instanceof ApiProblem)) throw error;
    if (asked !== era) return knownSession();
    if (error.status === 401) return signedOutByServer();
    // A person who is signed in stays so while the network is away.
    if (session.status === 'authenticated' || session.status === 'expired') return session;
    return become({ status: 'unreachable', problem: error });
  }
}

/** Seconds count from now, so that a clock of this machine that is wrong does no harm. */
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
  });
  // A different person on the same page must not see what the first one left in the caches.
  const isSomebodyElse = lastUserId !== null && lastUserId !== reply.user.id;
  if (isSomebodyElse) for (const listener of endListeners) listener();
  lastUserId = reply.user.id;
  note(before.status === 'authenticated' ? 'token refreshed' : 'signed in');
  const next = become({ status: 'authenticated', user: reply.user });
  if (before.status === 'expired' && !isSomebodyElse) {
    for (const listener of resumeListeners) listener();
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

// ── ways in ─────────────────────────────────────────────────────────────────────────────────────

/** A session that this very tab asked for; the others hear of it. */
function enter(reply: SignedInReply): void {
  beginEra();
  signedIn(reply);
  tell('signed-in');
}

export async function login(request: LoginRequest): Promise<void> {
  enter(await write('POST', '/auth/login', request, SignedInReply));
}

/** Answers the reply; without a session in it the address has to be confirmed first. */
export async function signup(request: SignupRequest): Promise<SignupReply> {
  const reply = await write('POST', '/auth/signup', request, SignupReplySchema);
  if ('token' in reply) enter(reply);
  return reply;
}

/** Signs in with what a link left behind: its one-time pair of tokens, or its code. */
export async function exchange(request: v.InferInput<typeof ExchangeRequest>): Promise<User> {
  const reply = await write('POST', '/auth/exchange', request, SignedInReply);
  enter(reply);
  return reply.user;
}

/** Sets the password that the ticket of a reset link allows to set, and signs in. */
export async function resetPassword(
  request: v.InferInput<typeof PasswordResetRequest>,
): Promise<void> {
  const reply = await write('POST', '/auth/password/reset', request, SignedInReply);
  note('password recovery');
  enter(reply);
}

// ── mails and their links ───────────────────────────────────────────────────────────────────────

export async function requestMagicLink(
  request: v.InferInput<typeof MagicLinkRequest>,
): Promise<void> {
  await write('POST', '/auth/magic-link', request, DoneReply);
}

export async function requestReset(request: v.InferInput<typeof ResetLinkRequest>): Promise<void> {
  await write('POST', '/auth/password/reset-request', request, DoneReply);
}

/** The address itself, or what sign-up answered in its place. */
export async function resendConfirmation(
  request: v.InferInput<typeof ResendRequest>,
): Promise<void> {
  await write('POST', '/auth/resend-confirmation', request, DoneReply);
}

/** Uses up a link of a mail and answers the page to go to, a path of this site. */
export async function followLink(kind: LinkKind, token: string): Promise<LinkReply> {
  return write('POST', `/auth/links/${kind}`, { token }, LinkReply);
}

// ── changes and ways out ────────────────────────────────────────────────────────────────────────

/** Shows the person as they are now, here and in the other tabs; nothing happens without a change. */
export function updateUser(user: User): void {
  if (session.status !== 'authenticated' && session.status !== 'expired') return;
  if (session.user.id !== user.id || !looksDifferent(session.user, user)) return;
  note('user updated');
  become({ ...session, user });
  tell('user-updated');
}

function looksDifferent(one: User, other: User): boolean {
  return (['name', 'email', 'avatar_url', 'subscription_tier'] as const).some(
    (field) => (one[field] ?? null) !== (other[field] ?? null),
  );
}

/**
 * Signs out here and in the other tabs at once. The call to the server is repeated until it gets
 * through, because the cookie outlives this page.
 */
export function logout(): void {
  leave();
  tell('signed-out');
  void endOnServer();
}

function leave(): void {
  beginEra();
  setAccessToken(null);
  lastUserId = null;
  removeDrafts();
  for (const listener of endListeners) listener();
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
      // Somebody signed in again meanwhile: ending that session would be wrong.
      if (era !== left) return;
    }
  }
}

/** Drafts belong to a person; those of everybody leave with the person who signs out. */
function removeDrafts(): void {
  removeStored((key) => key.startsWith('sevenfold.draft.'));
}

function removeStored(matches: (key: string) => boolean): void {
  // A browser that forbids storage throws on the mere mention of it, and has nothing to remove.
  if (!navigator.cookieEnabled) return;
  for (const key of Object.keys(localStorage)) if (matches(key)) localStorage.removeItem(key);
}

/**
 * Connects the session with this page: renewing tokens, other tabs, and the storage keys of older
 * clients, which held tokens and are removed on sight. Called once, by the browser's entry file.
 */
export function connectSession(): void {
  renewAccessTokenWith(restoreSession);
  removeStored((key) => key === 'auth_token' || key === 'auth-session');
  tabs = new BroadcastChannel('sevenfold');
  tabs.addEventListener('message', ({ data: word }: MessageEvent<Word>) => {
    if (word === 'signed-out') leave();
    if (word === 'user-updated') void restoreSession();
    if (word === 'signed-in') {
      // A question that is under way was asked before.
      beginEra();
      void restoreSession();
    }
  });
  keepLooking(renewWhenDue);
  void restoreSession();
}
