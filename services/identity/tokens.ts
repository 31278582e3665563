import { createHash, createPrivateKey, createPublicKey } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { errors, jwtVerify, SignJWT } from 'jose';
import { newId } from '#services/platform/ids.ts';

/**
 * Access tokens: signed by EdDSA, ten minutes, bound to a session. The first key signs, all verify,
 * so that keys can be rotated while tokens live.
 */
export type AccessClaims = { userId: string; sessionId: string; expiresAt: Date };

export type Tokens = {
  sign(userId: string, sessionId: string): Promise<{ token: string; expiresAt: Date }>;
  /** Null for anything that is not a valid access token of ours. */
  verify(token: string): Promise<AccessClaims | null>;
};

const accessTokenSeconds = 600;

export function createTokens(options: {
  /** Ed25519 seeds, 32 bytes each. */
  keys: readonly Buffer[];
  /** Issuer and audience: the public address of this installation. */
  publicUrl: string;
  clock: () => number;
}): Tokens {
  const { publicUrl, clock } = options;
  const pairs = options.keys.map(keyPair);
  const signing = pairs[0];
  if (!signing) throw new Error('JWT_KEYS: at least one key is needed');
  const byId = new Map(pairs.map((pair) => [pair.id, pair.publicKey]));
  return {
    async sign(userId, sessionId) {
      const issued = Math.floor(clock() / 1000);
      const token = await new SignJWT({ sid: sessionId })
        .setProtectedHeader({ alg: 'EdDSA', typ: 'at+jwt', kid: signing.id })
        .setIssuer(publicUrl)
        .setAudience(publicUrl)
        .setSubject(userId)
        .setJti(newId('ses', clock()))
        .setIssuedAt(issued)
        .setExpirationTime(issued + accessTokenSeconds)
        .sign(signing.privateKey);
      return { token, expiresAt: new Date((issued + accessTokenSeconds) * 1000) };
    },
    async verify(token) {
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
            typ: 'at+jwt',
            issuer: publicUrl,
            audience: publicUrl,
            requiredClaims: ['sub', 'sid', 'exp', 'iat', 'jti'],
            currentDate: new Date(clock()),
          },
        );
        const { sub, sid, exp } = payload;
        if (typeof sub !== 'string' || typeof sid !== 'string' || exp === undefined) return null;
        return { userId: sub, sessionId: sid, expiresAt: new Date(exp * 1000) };
      } catch (error) {
        if (error instanceof errors.JOSEError) return null;
        throw error;
      }
    },
  };
}

// PKCS #8 of an Ed25519 private key is this prefix and the seed (RFC 8410).
const pkcs8Prefix = Buffer.from('302e020100300506032b657004220420', 'hex');

function keyPair(seed: Buffer): { id: string; privateKey: KeyObject; publicKey: KeyObject } {
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
