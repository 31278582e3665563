import { useSyncExternalStore } from 'react';
import {
  LogoutReply,
  type LoginRequest,
  type SessionReply,
  SessionReply as SessionReplySchema,
  SessionState,
  SignupReply as SignupReplySchema,
  type SignupReply,
  type SignupRequest,
  type User,
} from '#services/identity/contract.ts';
import {
  ApiProblem,
  isTransient,
  read,
  renewAccessTokenWith,
  setAccessToken,
  write,
} from '#web/api.ts';

/**
 * Who is signed in. The server's cookie is the truth; this page only holds a short-lived access
 * token in memory and asks `GET /auth/session` for one at the start and whenever it runs out.
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

const unknown: Session = { status: 'unknown' };
let session: Session = unknown;
const listeners = new Set<() => void>();
const endListeners = new Set<() => void>();

/**
 * Tells the other tabs of this browser that somebody signed in or out. Opened by `connectSession`:
 * where pages are prerendered there are no tabs, and an open channel would keep the process alive.
 */
let tabs: BroadcastChannel | undefined;

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

let asking: Promise<Session> | undefined;

/** Asks the server whether there is a session. Calls at the same time share one question. */
export function restoreSession(): Promise<Session> {
  asking ??= askForSession().finally(() => {
    asking = undefined;
  });
  return asking;
}

/** The session, asked for when it is not known yet. */
export function knownSession(): Promise<Session> {
  return session.status === 'unknown' || session.status === 'unreachable'
    ? restoreSession()
    : Promise.resolve(session);
}

async function askForSession(): Promise<Session> {
  try {
    const reply = await read('/auth/session', SessionState);
    return reply ? signedIn(reply) : signedOutByServer();
  } catch (error) {
    if (!(error instanceof ApiProblem)) throw error;
    if (error.status === 401) return signedOutByServer();
    // A person who is signed in stays so while the network is away.
    if (session.status === 'authenticated' || session.status === 'expired') return session;
    return become({ status: 'unreachable', problem: error });
  }
}

function signedIn(reply: SessionReply): Session {
  setAccessToken(reply);
  return become({ status: 'authenticated', user: reply.user });
}

function signedOutByServer(): Session {
  setAccessToken(null);
  if (session.status === 'authenticated' || session.status === 'expired') {
    return become({ status: 'expired', user: session.user });
  }
  return become({ status: 'anonymous' });
}

export async function login(request: LoginRequest): Promise<void> {
  forgetWhenSomebodyElse(signedIn(await write('POST', '/auth/login', request, SessionReplySchema)));
}

/** Answers the reply; without a session in it the address has to be confirmed first. */
export async function signup(request: SignupRequest): Promise<SignupReply> {
  const reply = await write('POST', '/auth/signup', request, SignupReplySchema);
  if ('token' in reply) forgetWhenSomebodyElse(signedIn(reply));
  return reply;
}

let lastUserId: string | null = null;

/** A different person on the same page must not see what the first one left in the caches. */
function forgetWhenSomebodyElse(next: Session): void {
  const id = next.status === 'authenticated' ? next.user.id : null;
  if (lastUserId !== null && lastUserId !== id) for (const listener of endListeners) listener();
  lastUserId = id;
  tabs?.postMessage('signed-in');
}

/**
 * Signs out here and in the other tabs at once. The call to the server is repeated until it gets
 * through, because the cookie outlives this page.
 */
export function logout(): void {
  leave();
  tabs?.postMessage('signed-out');
  void endOnServer();
}

function leave(): void {
  setAccessToken(null);
  lastUserId = null;
  removeDrafts();
  for (const listener of endListeners) listener();
  become({ status: 'anonymous' });
}

async function endOnServer(): Promise<void> {
  for (let delayMs = 1_000; ; delayMs = Math.min(delayMs * 2, 60_000)) {
    try {
      await write('POST', '/auth/logout', {}, LogoutReply);
      return;
    } catch (error) {
      if (!isTransient(error)) return;
      await new Promise((resolve) => setTimeout(resolve, delayMs));
      // Somebody signed in again meanwhile: ending that session would be wrong.
      if (session.status === 'authenticated') return;
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
  tabs.addEventListener('message', (message) => {
    if (message.data === 'signed-out') leave();
    if (message.data === 'signed-in') void restoreSession();
  });
  void restoreSession();
}
