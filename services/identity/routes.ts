import { networkOf } from '#services/platform/http/client-address.ts';
import type { HttpContext } from '#services/platform/http/http.ts';
import { serve } from '#services/platform/http/serve.ts';
import type { Call, Handlers, ServeDependencies } from '#services/platform/http/serve.ts';
import type { RateLimitName } from '#services/platform/limits.ts';
import type { Sealer } from '#services/platform/seal.ts';
import { accountHandlers } from './accounts/routes.ts';
import type { AccountDependencies } from './accounts/routes.ts';
import { apiKeyHandlers } from './api-keys/routes.ts';
import type { ApiKeyDependencies } from './api-keys/routes.ts';
import { identityEndpoints } from './contract.ts';
import { ownPath } from './contract/forms.ts';
import type { DoneReply, SessionReply, SignupReply } from './contract/session.ts';
import { linkHandlers } from './links/routes.ts';
import type { LinkDependencies } from './links/routes.ts';
import { mailAccountExists, mailLink } from './links/mailed.ts';
import type { AskedLink } from './links/mailed.ts';
import { namedRefusal, refuseCommonPassword } from './passwords/new-password.ts';
import { passwordHandlers } from './passwords/routes.ts';
import type { PasswordDependencies } from './passwords/routes.ts';
import { hashPassword, needsRehash, verifyPassword } from './passwords/passwords.ts';
import { identityProblem } from './problems.ts';
import { browserNonce, deviceOfCookie } from './sessions/cookie.ts';
import { sessionHandlers } from './sessions/routes.ts';
import type { SessionRouteDependencies } from './sessions/routes.ts';
import { signIn } from './sessions/sign-in.ts';
import type { SlowDown } from './slow-down.ts';
import {
  changedAt,
  createUser,
  findUserByEmail,
  insertUser,
  normalizedEmail,
} from './accounts/users.ts';
import type { Account, NewAccount } from './accounts/users.ts';

export type IdentityDependencies = LinkDependencies &
  PasswordDependencies &
  AccountDependencies &
  SessionRouteDependencies &
  ApiKeyDependencies & {
    sealer: Sealer;
    slowDown: SlowDown;
    requireEmailConfirmation: boolean;
    /** Whether sign-up says that an address has an account, as the specification asks. */
    signupDisclosesAccounts: boolean;
  };

/** Authentication, sessions, and a person's own account. */
export function identityRoutes(dependencies: IdentityDependencies & ServeDependencies) {
  return serve(
    identityEndpoints,
    {
      ...authenticationHandlers(dependencies),
      ...linkHandlers(dependencies),
      ...passwordHandlers(dependencies),
      ...sessionHandlers(dependencies),
      ...accountHandlers(dependencies),
      ...apiKeyHandlers(dependencies),
    },
    dependencies,
    (problem, name) => (name === 'POST /auth/login' ? problem : namedRefusal(problem)),
  );
}

/** Signing up, signing in and asking for a link. */
function authenticationHandlers(dependencies: IdentityDependencies) {
  const { tokens, publicUrl } = dependencies;
  return {
    'POST /auth/signup': (call) => signUp(dependencies, call),
    'POST /auth/login': (call) => logIn(dependencies, call),
    'POST /auth/resend-confirmation': async ({ context, body }) => {
      const email = 'email' in body ? body.email : await tokens.verifyPending(body.pending_token);
      return askForLink(dependencies, context, 'link', email, {
        kind: 'confirm',
        redirect: ownPath(body.redirect, publicUrl),
      });
    },
    'POST /auth/magic-link': async ({ context, body }) =>
      askForLink(dependencies, context, 'link', body.email, {
        kind: 'magic',
        redirect: ownPath(body.redirect, publicUrl),
        remembered: body.remember_me,
        code_challenge: body.code_challenge ?? null,
      }),
    'POST /auth/password/reset-request': async ({ context, body }) =>
      askForLink(dependencies, context, 'reset', body.email, { kind: 'reset' }),
  } satisfies Partial<Handlers<typeof identityEndpoints>>;
}

// --- signing up ---

async function signUp(
  dependencies: IdentityDependencies,
  { context, body: request }: Call<typeof identityEndpoints, 'POST /auth/signup'>,
): Promise<SignupReply> {
  const { pool, rateLimits, publicUrl, productName, tokens } = dependencies;
  refuseCommonPassword(request.password, request, { productName, field: 'password' });
  await rateLimits.takeFrom('signup', context.get('address'));
  const isNeutral = !dependencies.signupDisclosesAccounts;
  const browser = browserNonce(context, publicUrl);
  const confirm = {
    kind: 'confirm',
    browser,
    redirect: ownPath(request.redirect, publicUrl),
  } as const;
  const account: NewAccount = {
    email: request.email,
    name: request.name,
    passwordHash: await hashPassword(request.password),
    termsVersion: request.terms_version ?? null,
    signupBrowser: browser,
  };
  if (isNeutral) {
    dependencies.afterwards.begin(async () => signUpQuietly(dependencies, account, confirm));
  } else {
    const created = await createUser(pool, account);
    await noteCreated(dependencies, created);
    if (!demandsProof(dependencies)) {
      const how = { method: 'signup', remembered: false } as const;
      const session = await signIn(dependencies, context, created, how);
      return { ...session, needsEmailVerification: false };
    }
    await mailLink(dependencies, created.id, confirm);
  }
  const pendingToken = await tokens.signPending(normalizedEmail(request.email));
  return { needsEmailVerification: true, pending_token: pendingToken };
}

/**
 * Whether an address must be proved before its user can sign in. Even where it need not be, the address
 * stays unproved: its owner's first proof still removes what another user set up. A neutral sign-up
 * always demands proof, because a session would reveal that the address was free.
 */
function demandsProof({
  requireEmailConfirmation,
  signupDisclosesAccounts,
}: IdentityDependencies): boolean {
  return requireEmailConfirmation || !signupDisclosesAccounts;
}

/** Runs after the response, which is the same whether or not the address had an account. */
async function signUpQuietly(
  dependencies: IdentityDependencies,
  account: NewAccount,
  confirm: AskedLink,
): Promise<void> {
  const created = await insertUser(dependencies.pool, account);
  if (created) {
    await noteCreated(dependencies, created);
    await mailLink(dependencies, created.id, confirm);
    return;
  }
  const owner = await findUserByEmail(dependencies.pool, account.email);
  if (owner) await mailAccountExists(dependencies, owner);
}

async function noteCreated(
  { sealer, audit }: IdentityDependencies,
  { id }: Account,
): Promise<void> {
  await sealer.createDataKey('account', id, id);
  await audit({ actor: id, action: 'account.created', subject: id, userId: id });
}

// --- signing in ---

/**
 * Every limit is checked before the hash. Until the password is right, neither the response nor its
 * time reveals whether there is an account. Where sign-up does not reveal it, login does not say that an
 * address is unconfirmed. Otherwise a stranger could sign up, log in with the same password, and learn
 * whether the account had existed before.
 */
async function logIn(
  dependencies: IdentityDependencies,
  { context, body: request }: Call<typeof identityEndpoints, 'POST /auth/login'>,
): Promise<SessionReply> {
  await limitLogin(dependencies, context, normalizedEmail(request.email));
  const account = await findUserByEmail(dependencies.pool, request.email);
  const isRight = await verifyPassword(request.password, account?.password_hash ?? null);
  const reason = refusalOf(account, isRight, demandsProof(dependencies));
  if (account === null || reason !== null) {
    await noteRefused(dependencies, context, account, reason ?? 'unknown');
    throw identityProblem(
      reason === 'not-confirmed' && dependencies.signupDisclosesAccounts
        ? 'email-not-confirmed'
        : 'wrong-credentials',
    );
  }
  await renewHash(dependencies, account, request.password);
  const how = { method: 'password', remembered: request.remember_me } as const;
  return signIn(dependencies, context, account, how);
}

type LoginRefusal = 'unknown' | 'no-password' | 'wrong-password' | 'erasing' | 'not-confirmed';

function refusalOf(
  account: Account | null,
  isRight: boolean,
  mustBeProved: boolean,
): LoginRefusal | null {
  if (account === null) return 'unknown';
  if (account.password_hash === null) return 'no-password';
  if (!isRight) return 'wrong-password';
  if (account.erasing_at !== null) return 'erasing';
  return mustBeProved && account.email_confirmed_at === null ? 'not-confirmed' : null;
}

async function limitLogin(
  dependencies: IdentityDependencies,
  context: HttpContext,
  email: string,
): Promise<void> {
  if (await isKnownHere(dependencies, context, email, 'login-device')) return;
  const { rateLimits, slowDown } = dependencies;
  const address = context.get('address');
  await rateLimits.takeFrom('login-address', address);
  await rateLimits.takeFrom('login', address, { of: email });
  await slowDown.wait(email, await rateLimits.count('login-account', email, { address }));
}

/**
 * Whether this browser has had a session of the account since its password was last changed. Then only
 * its own tries count against it; beyond its limit it is treated like any other browser. The account is
 * read only for holders of the cookie, who know that it exists.
 */
async function isKnownHere(
  dependencies: IdentityDependencies,
  context: HttpContext,
  email: string,
  limit: 'login-device' | 'mail-device',
): Promise<boolean> {
  const device = await deviceOfCookie(dependencies, context);
  if (device === null) return false;
  const account = await findUserByEmail(dependencies.pool, email);
  if (account?.id !== device.userId || (changedAt(account) ?? 0) !== device.passwordAt)
    return false;
  // Keyed by account: a new sign-in brings a new cookie, which must not bring new turns.
  const about = { userId: account.id, address: context.get('address') };
  return (await dependencies.rateLimits.count(limit, account.id, about)) === 0;
}

/** Parameters are raised over time, and only a login has the password. */
async function renewHash(
  { pool }: IdentityDependencies,
  { id, password_hash: stored }: Account,
  password: string,
): Promise<void> {
  if (stored === null || !needsRehash(stored)) return;
  await pool.query('update users set password_hash = $3 where id = $1 and password_hash = $2', [
    id,
    stored,
    await hashPassword(password),
  ]);
}

async function noteRefused(
  { audit }: IdentityDependencies,
  context: HttpContext,
  account: Account | null,
  reason: LoginRefusal,
): Promise<void> {
  await audit({
    actor: 'anonymous',
    action: 'login.refused',
    subject: account?.id ?? 'unknown',
    ...(account === null ? {} : { userId: account.id }),
    detail: { reason, network: networkOf(context.get('address')) },
  });
}

// --- asking for a link ---

/**
 * The same for every address: limits, a nonce for the browser, a response. The account and its earlier
 * emails are read after the response, so that its time reveals nothing.
 */
async function askForLink(
  dependencies: IdentityDependencies,
  context: HttpContext,
  limit: RateLimitName,
  email: string | null,
  ask: Omit<AskedLink, 'browser'>,
): Promise<DoneReply> {
  const { pool, rateLimits, publicUrl, afterwards } = dependencies;
  const address = context.get('address');
  const isKnown =
    email !== null && (await isKnownHere(dependencies, context, email, 'mail-device'));
  if (!isKnown) {
    await rateLimits.takeFrom('mail-address', address);
    if (email !== null) await rateLimits.takeFrom(limit, address, { of: normalizedEmail(email) });
  }
  const nonce = browserNonce(context, publicUrl);
  // With a verifier no nonce is needed: the link is of no use to anyone else.
  const browser = typeof ask.code_challenge === 'string' ? null : nonce;
  afterwards.begin(async () => {
    const account = email === null ? null : await findUserByEmail(pool, email);
    if (account) await mailLink(dependencies, account.id, { ...ask, browser }, { nonce, isKnown });
  });
  return { ok: true };
}
