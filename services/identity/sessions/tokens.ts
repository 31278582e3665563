import { createHash, createPrivateKey, createPublicKey, randomUUID } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { errors, jwtVerify, SignJWT } from 'jose';
import type { JWK, JWTPayload } from 'jose';
import { LRUCache } from 'lru-cache';

/**
 * Signed tokens (RFC 8725, RFC 9068): EdDSA only, with our own keys only. Each kind has its own type and
 * audience, so that none works in place of another. The first key signs and all of them verify, so that
 * keys can be rotated while tokens live.
 */
export type AccessClaims = { userId: string; sessionId: string; expiresAt: Date };

export type Tokens = {
  /** An access token: ten minutes, bound to a session. */
  sign(userId: string, sessionId: string): Promise<{ token: string; expiresAt: Date }>;
  /** Null for anything that is not one of our valid access tokens. */
  verify(token: string): Promise<AccessClaims | null>;
  /** What an emailed link hands to the browser; both halves name the ticket, for one minute. */
  signLinkPair(ticket: LinkTicket): Promise<{ access: string; refresh: string }>;
  /** Null unless both are valid and belong together. */
  verifyLinkPair(access: string, refresh: string): Promise<LinkTicket | null>;
  /** Names an unconfirmed address, and grants nothing else. */
  signPending(email: string): Promise<string>;
  verifyPending(token: string): Promise<string | null>;
  /** Makes a browser known to an account that was signed in there, until the password changes. */
  signDevice(device: KnownDevice): Promise<string>;
  verifyDevice(token: string): Promise<KnownDevice | null>;
  /** The public halves of all keys that verify, for others who check our tokens. */
  jwks(): { keys: JWK[] };
};

/** A row of `auth_link` and the person it signs in. */
export type LinkTicket = { id: string; userId: string };

/** `passwordAt`: when the account's password was last changed, as the session began; 0 for never. */
export type KnownDevice = { userId: string; passwordAt: number };

/** Seconds that a browser stays known to an account. */
export const deviceSeconds = 180 * 86_400;

/** One kind of token: its type, its audience and its lifetime. */
type Kind = { typ: string; path: string; seconds: number; claims: readonly string[] };

const access: Kind = {
  typ: 'at+jwt',
  path: '',
  seconds: 600,
  claims: ['sub', 'sid'],
};
const linkAccess: Kind = {
  typ: 'link-access+jwt',
  path: '/auth/exchange',
  seconds: 60,
  claims: ['sub'],
};
const linkRefresh: Kind = { ...linkAccess, typ: 'link-refresh+jwt' };
const pending: Kind = {
  typ: 'pending+jwt',
  path: '/auth/resend-confirmation',
  seconds: 86_400,
  claims: ['email'],
};
const device: Kind = {
  typ: 'device+jwt',
  path: '/auth/login',
  seconds: deviceSeconds,
  claims: ['sub', 'pwd'],
};

/** How far the clock of the signing machine may be ahead. */
const clockSkewSeconds = 5;

export const rememberedTokens = 10_000;

export function createTokens(options: {
  /** Ed25519 seeds, 32 bytes each. */
  keys: readonly Buffer[];
  /** Issuer, and with a path the audience: the public address of this installation. */
  publicUrl: string;
  clock: () => number;
  /** How many verified access tokens are remembered. */
  remember?: number;
}): Tokens {
  const { publicUrl, clock, remember = rememberedTokens } = options;
  const pairs = options.keys.map(keyPair);
  const signing = pairs[0];
  if (!signing) throw new Error('JWT_KEYS: at least one key is needed');
  const byId = new Map(pairs.map((pair) => [pair.id, pair.publicKey]));
  /** The content of a token never changes, so only its expiry is checked again. */
  const verified = new LRUCache<string, AccessClaims>({ max: remember });

  /** Verifying a signature costs more than most requests that carry it. */
  function remembered(token: string): AccessClaims | null {
    const claims = verified.get(token);
    if (claims === undefined || claims.expiresAt.getTime() > clock()) return claims ?? null;
    verified.delete(token);
    return null;
  }

  async function sign(kind: Kind, claims: JWTPayload): Promise<{ token: string; endsAt: number }> {
    const issued = Math.floor(clock() / 1000);
    const endsAt = issued + kind.seconds;
    const token = await new SignJWT({ jti: randomUUID(), ...claims })
      .setProtectedHeader({ alg: 'EdDSA', typ: kind.typ, kid: signing!.id })
      .setIssuer(publicUrl)
      .setAudience(`${publicUrl}${kind.path}`)
      .setIssuedAt(issued)
      .setExpirationTime(endsAt)
      .sign(signing!.privateKey);
    return { token, endsAt };
  }

  async function verify(kind: Kind, token: string): Promise<JWTPayload | null> {
    try {
      const { payload } = await jwtVerify(
        token,
        ({ kid }) => {
          const key = byId.get(kid ?? '');
          if (!key) throw new errors.JWKSNoMatchingKey();
          return key;
        },
        {
          algorithms: ['EdDSA'],
          typ: kind.typ,
          issuer: publicUrl,
          audience: `${publicUrl}${kind.path}`,
          requiredClaims: ['exp', 'iat', 'jti', ...kind.claims],
          currentDate: new Date(clock()),
        },
      );
      return (payload.iat ?? Infinity) > clock() / 1000 + clockSkewSeconds ? null : payload;
    } catch (error) {
      if (error instanceof errors.JOSEError) return null;
      throw error;
    }
  }

  return {
    async sign(userId, sessionId) {
      const { token, endsAt } = await sign(access, { sub: userId, sid: sessionId });
      return { token, expiresAt: new Date(endsAt * 1000) };
    },
    async verify(token) {
      const known = remembered(token);
      if (known !== null) return known;
      const payload = await verify(access, token);
      const { sub, sid, exp } = payload ?? {};
      if (typeof sub !== 'string' || typeof sid !== 'string' || exp === undefined) return null;
      const claims = { userId: sub, sessionId: sid, expiresAt: new Date(exp * 1000) };
      verified.set(token, claims);
      return claims;
    },
    async signLinkPair({ id, userId }) {
      const claims = { jti: id, sub: userId };
      const { token } = await sign(linkAccess, claims);
      return { access: token, refresh: (await sign(linkRefresh, claims)).token };
    },
    async verifyLinkPair(accessToken, refreshToken) {
      const first = await verify(linkAccess, accessToken);
      const second = await verify(linkRefresh, refreshToken);
      if (!first || !second || first.jti !== second.jti || first.sub !== second.sub) return null;
      const { jti, sub } = first;
      return jti === undefined || sub === undefined ? null : { id: jti, userId: sub };
    },
    async signPending(email) {
      return (await sign(pending, { email })).token;
    },
    async verifyPending(token) {
      const email = (await verify(pending, token))?.['email'];
      return typeof email === 'string' ? email : null;
    },
    async signDevice({ userId, passwordAt }) {
      return (await sign(device, { sub: userId, pwd: passwordAt })).token;
    },
    async verifyDevice(token) {
      const { sub, pwd } = (await verify(device, token)) ?? {};
      if (sub === undefined || typeof pwd !== 'number') return null;
      return { userId: sub, passwordAt: pwd };
    },
    jwks: () => ({ keys: pairs.map(publicJwk) }),
  };
}

// PKCS #8 of an Ed25519 private key is this prefix and the seed (RFC 8410).
const pkcs8Prefix = Buffer.from('302e020100300506032b657004220420', 'hex');

type KeyPair = { id: string; privateKey: KeyObject; publicKey: KeyObject };

function keyPair(seed: Buffer): KeyPair {
  const privateKey = createPrivateKey({
    key: Buffer.concat([pkcs8Prefix, seed]),
    format: 'der',
    type: 'pkcs8',
  });
  const publicKey = createPublicKey(privateKey);
  const id = createHash('sha256')
    .update(publicKey.export({ format: 'der', type: 'spki' }))
    .digest('base64url')
    .slice(0, 16);
  return { id, privateKey, publicKey };
}

/** The id of a signing key in the header of its tokens, in the key set and for operators. */
export function signingKeyId(seed: Buffer): string {
  return keyPair(seed).id;
}

function publicJwk({ id, publicKey }: KeyPair): JWK {
  const { kty, crv, x } = publicKey.export({ format: 'jwk' });
  return { kty, crv, x, kid: id, alg: 'EdDSA', use: 'sig' } as JWK;
}
