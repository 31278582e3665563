import { createHmac, createPrivateKey, createPublicKey, randomBytes, sign } from 'node:crypto';
import { createLocalJWKSet, jwtVerify, SignJWT } from 'jose';
import type { JWTPayload } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { authenticator } from '#services/identity/sessions/routes.ts';
import { createTokens, signingKeyId } from '#services/identity/sessions/tokens.ts';
import type { AccessClaims, Tokens } from '#services/identity/sessions/tokens.ts';
import { createTestApp } from '#tests/support/app.ts';
import type { Person, TestApp } from '#tests/support/app.ts';

const publicUrl = 'http://127.0.0.1:3000';
const [key, otherKey, foreignKey] = [randomBytes(32), randomBytes(32), randomBytes(32)];
const minute = 60_000;

let now = Date.now();
let app: TestApp;
let ann: Person;
let tokens: Tokens;
let claims: AccessClaims;
beforeAll(async () => {
  app = await createTestApp({ jwtKeys: [key], clock: () => now });
  ann = await app.signUp();
  tokens = createTokens({ keys: [key], publicUrl, clock: () => now });
  const found = await tokens.verify(ann.token);
  if (!found) throw new Error('The app signs otherwise than its settings say');
  claims = found;
});
afterAll(async () => app.close());

async function statusFor(token: string): Promise<number> {
  return (await app.call('/users/me', { token })).status;
}

function seconds(): number {
  return Math.floor(now / 1000);
}

/** An access token as the app signs it, but for what a test changes; null takes a claim away. */
async function forge(
  changes: {
    header?: Record<string, unknown>;
    payload?: Record<string, unknown>;
    seed?: Buffer;
  } = {},
): Promise<string> {
  const payload: Record<string, unknown> = {
    iss: publicUrl,
    aud: publicUrl,
    sub: claims.userId,
    sid: claims.sessionId,
    jti: 'forged',
    iat: seconds(),
    exp: seconds() + 600,
    ...changes.payload,
  };
  const kept = Object.entries(payload).filter(([, value]) => value !== null);
  return new SignJWT(Object.fromEntries(kept) as JWTPayload)
    .setProtectedHeader({
      alg: 'EdDSA',
      typ: 'at+jwt',
      kid: signingKeyId(key),
      ...changes.header,
    })
    .sign(privateKey(changes.seed ?? key));
}

function privateKey(seed: Buffer) {
  const prefix = Buffer.from('302e020100300506032b657004220420', 'hex');
  return createPrivateKey({ key: Buffer.concat([prefix, seed]), format: 'der', type: 'pkcs8' });
}

function segment(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

/** The parts of a good token under another header, with whatever stands for its signature. */
async function resigned(
  header: Record<string, unknown>,
  signatureOf: (content: string) => string,
): Promise<string> {
  const [, payload = ''] = (await forge()).split('.');
  const content = `${segment({ typ: 'at+jwt', kid: signingKeyId(key), ...header })}.${payload}`;
  return `${content}.${signatureOf(content)}`;
}

function publicBytes(): Buffer {
  return Buffer.from(tokens.jwks().keys[0]?.x ?? '', 'base64url');
}

describe('an access token', () => {
  test('our own access token is accepted, and so is one that is forged with our key', async () => {
    expect(await statusFor(ann.token)).toBe(200);
    expect(await statusFor(await forge())).toBe(200);
  });

  test.each<[string, Parameters<typeof forge>[0]]>([
    ['of no type', { header: { typ: undefined } }],
    ['of the general type', { header: { typ: 'JWT' } }],
    ['of the type of a link', { header: { typ: 'link-access+jwt' } }],
    ['without a key id', { header: { kid: undefined } }],
    ['with an unknown key id', { header: { kid: 'unknown' } }],
    [
      'by a foreign key under its own id',
      { header: { kid: signingKeyId(foreignKey) }, seed: foreignKey },
    ],
    ['by a foreign key under the id of ours', { seed: foreignKey }],
    ['for another audience', { payload: { aud: 'http://127.0.0.1:3001' } }],
    ['for a path of ours', { payload: { aud: `${publicUrl}/auth/exchange` } }],
    ['for no audience', { payload: { aud: null } }],
    ['of another issuer', { payload: { iss: 'https://example.com' } }],
    ['of no issuer', { payload: { iss: null } }],
    ['that has expired', { payload: { exp: seconds() - 1 } }],
    ['that ends this second', { payload: { exp: seconds() } }],
    ['without an end', { payload: { exp: null } }],
    ['that begins in a minute', { payload: { nbf: seconds() + 60 } }],
    ['that is issued in a minute', { payload: { iat: seconds() + 60 } }],
    ['that was never issued', { payload: { iat: null } }],
    ['without an id', { payload: { jti: null } }],
    ['without a session', { payload: { sid: null } }],
    ['with a session that is none', { payload: { sid: 7 } }],
    ['with a session that never was', { payload: { sid: 'ses_00000000000000000000000000' } }],
    ['without a person', { payload: { sub: null } }],
    ['of another person than its session', { payload: { sub: 'usr_00000000000000000000000000' } }],
  ])('an access token %s is refused', async (_what, changes) => {
    expect(await statusFor(await forge(changes))).toBe(401);
  });

  test('an access token of one user with the session of another is refused', async () => {
    const ben = await app.signUp();
    expect(await statusFor(ben.token)).toBe(200);
    expect(await statusFor(await forge({ payload: { sub: ben.userId } }))).toBe(401);
  });

  test('an access token without a signature is refused, whatever its header says', async () => {
    for (const alg of ['none', 'None', 'EdDSA'])
      expect(await statusFor(await resigned({ alg }, () => ''))).toBe(401);
  });

  test.each(['HS256', 'HS384', 'HS512'])(
    'an access token that is signed as %s with the public key as the secret is refused',
    async (alg) => {
      const pem = createPublicKey(privateKey(key)).export({ format: 'pem', type: 'spki' });
      for (const secret of [publicBytes(), pem, JSON.stringify(tokens.jwks().keys[0])]) {
        const signed = (content: string) =>
          createHmac(`sha${alg.slice(2)}`, secret)
            .update(content)
            .digest('base64url');
        expect(await statusFor(await resigned({ alg }, signed))).toBe(401);
      }
    },
  );

  test.each(['RS256', 'ES256', 'PS256'])(
    'an access token that calls itself %s is refused',
    async (alg) => {
      const [, , signature = ''] = (await forge()).split('.');
      expect(await statusFor(await resigned({ alg }, () => signature))).toBe(401);
    },
  );

  test('an access token with an unknown critical header is refused', async () => {
    const signed = (content: string) =>
      sign(null, Buffer.from(content), privateKey(key)).toString('base64url');
    expect(await statusFor(await resigned({ alg: 'EdDSA' }, signed))).toBe(200);
    const asking = { alg: 'EdDSA', crit: ['once'], once: true };
    expect(await statusFor(await resigned(asking, signed))).toBe(401);
  });

  test('an access token that brings a key of its own is refused', async () => {
    const jwk = createTokens({ keys: [foreignKey], publicUrl, clock: () => now }).jwks().keys[0];
    const token = await forge({ header: { jwk: jwk ?? {} }, seed: foreignKey });
    expect(await statusFor(token)).toBe(401);
  });

  test('an access token with changed content is refused', async () => {
    const [header, payload = '', signature] = ann.token.split('.');
    const content = JSON.parse(Buffer.from(payload, 'base64url').toString()) as object;
    const changed = segment({ ...content, exp: seconds() + 86_400 });
    expect(await statusFor([header, changed, signature].join('.'))).toBe(401);
  });

  test('an access token may come from a machine whose clock is a few seconds ahead', async () => {
    expect(await statusFor(await forge({ payload: { iat: seconds() + 5 } }))).toBe(200);
    expect(await statusFor(await forge({ payload: { iat: seconds() + 7 } }))).toBe(401);
  });

  test('an access token lasts ten minutes to the second', async () => {
    const person = await app.signUp();
    const began = now;
    now = began - (began % 1000) + 10 * minute - 1;
    expect(await statusFor(person.token)).toBe(200);
    now += 1;
    expect(await statusFor(person.token)).toBe(401);
    now = began;
  });
});

describe('access tokens whose signature was verified', () => {
  test('a remembered access token is accepted only word for word, and only until it expires', async () => {
    const own = createTokens({ keys: [key], publicUrl, clock: () => now, remember: 2 });
    const issued = await Promise.all(['1', '2', '3'].map(async (id) => own.sign('usr_a', id)));
    for (const { token } of [...issued, ...issued]) {
      const first = await own.verify(token);
      expect(first).toMatchObject({ userId: 'usr_a' });
      expect(await own.verify(token)).toEqual(first);
      const [header, payload] = token.split('.');
      expect(await own.verify(`${header}.${payload}.${'A'.repeat(86)}`)).toBe(null);
    }
    const began = now;
    now += 10 * minute;
    for (const { token } of issued) expect(await own.verify(token)).toBe(null);
    now = began;
  });
});

describe('a token of another kind', () => {
  test('a token of another kind is refused, although our key has signed it', async () => {
    const { access, refresh } = await tokens.signLinkPair({
      id: claims.sessionId,
      userId: claims.userId,
    });
    const pending = await tokens.signPending('ann@example.com');
    for (const token of [access, refresh, pending]) {
      expect(token.split('.')).toHaveLength(3);
      expect(await statusFor(token)).toBe(401);
    }
  });

  test('a link pair proves a ticket only with both of its halves', async () => {
    const first = { id: 'lnk_1', userId: 'usr_1' };
    const one = await tokens.signLinkPair(first);
    const two = await tokens.signLinkPair({ id: 'lnk_2', userId: 'usr_1' });
    const three = await tokens.signLinkPair({ id: 'lnk_1', userId: 'usr_2' });
    expect(await tokens.verifyLinkPair(one.access, one.refresh)).toEqual(first);
    for (const [access, refresh] of [
      [one.access, two.refresh],
      [one.access, three.refresh],
      [one.refresh, one.access],
      [one.access, one.access],
      [one.refresh, one.refresh],
      [one.access, ''],
      [ann.token, one.refresh],
    ] as const)
      expect(await tokens.verifyLinkPair(access, refresh)).toBeNull();
  });

  test('a link pair lasts a minute, and a pending token a day', async () => {
    let moved = now - (now % 1000);
    const clocked = createTokens({ keys: [key], publicUrl, clock: () => moved });
    const { access, refresh } = await clocked.signLinkPair({ id: 'lnk_1', userId: 'usr_1' });
    const pending = await clocked.signPending('ann@example.com');
    moved += minute - 1;
    expect(await clocked.verifyLinkPair(access, refresh)).not.toBeNull();
    moved += 1;
    expect(await clocked.verifyLinkPair(access, refresh)).toBeNull();
    moved += 24 * 60 * minute - minute - 1;
    expect(await clocked.verifyPending(pending)).toBe('ann@example.com');
    moved += 1;
    expect(await clocked.verifyPending(pending)).toBeNull();
  });

  test('a pending token is accepted only if our key signed it as one', async () => {
    expect(await tokens.verifyPending(ann.token)).toBeNull();
    expect(await tokens.verifyPending('a.b.c')).toBeNull();
    const elsewhere = createTokens({ keys: [foreignKey], publicUrl, clock: () => now });
    expect(await tokens.verifyPending(await elsewhere.signPending('ann@example.com'))).toBeNull();
  });
});

describe('the keys', () => {
  test('the public halves of the keys are published, and verify our tokens', async () => {
    const response = await app.app.request('http://localhost/.well-known/jwks.json');
    expect(response.status).toBe(200);
    expect(response.headers.get('cache-control')).toBe('public, max-age=300');
    expect(response.headers.get('content-type')).toMatch(/^application\/json/);
    const set = (await response.json()) as ReturnType<Tokens['jwks']>;
    expect(set).toEqual({
      keys: [
        {
          kty: 'OKP',
          crv: 'Ed25519',
          alg: 'EdDSA',
          use: 'sig',
          kid: signingKeyId(key),
          x: publicBytes().toString('base64url'),
        },
      ],
    });
    const { payload, protectedHeader } = await jwtVerify(ann.token, createLocalJWKSet(set), {
      typ: 'at+jwt',
      issuer: publicUrl,
      audience: publicUrl,
      currentDate: new Date(now),
    });
    expect(payload).toMatchObject({ sub: ann.userId, sid: claims.sessionId });
    expect(protectedHeader).toEqual({ alg: 'EdDSA', typ: 'at+jwt', kid: signingKeyId(key) });
    await expect(
      jwtVerify(await forge({ seed: foreignKey }), createLocalJWKSet(set)),
    ).rejects.toThrow('signature verification failed');
  });

  test('tokens and sessions continue to work when the keys change', async () => {
    const clock = () => now;
    const withKeys = (...keys: Buffer[]) => {
      const changed = createTokens({ keys, publicUrl, clock });
      return { changed, authenticate: authenticator({ ...app.core, tokens: changed }) };
    };
    const during = withKeys(otherKey, key);
    expect(await during.authenticate(ann.token)).toMatchObject({ userId: ann.userId });
    const next = await during.changed.sign(claims.userId, claims.sessionId);
    const after = withKeys(otherKey);
    expect(await after.authenticate(next.token)).toMatchObject({ sessionId: claims.sessionId });
    expect(await after.authenticate(ann.token)).toBeNull();
  });

  test('while two keys are set, the first signs and both verify; a removed key no longer does', async () => {
    const clock = () => now;
    const before = createTokens({ keys: [key], publicUrl, clock });
    const during = createTokens({ keys: [otherKey, key], publicUrl, clock });
    const after = createTokens({ keys: [otherKey], publicUrl, clock });
    const old = (await before.sign('usr_1', 'ses_1')).token;
    const fresh = (await during.sign('usr_1', 'ses_1')).token;
    const expected = { userId: 'usr_1', sessionId: 'ses_1' };
    expect(await during.verify(old)).toMatchObject(expected);
    expect(await during.verify(fresh)).toMatchObject(expected);
    expect(await before.verify(fresh)).toBeNull();
    expect(await after.verify(fresh)).toMatchObject(expected);
    expect(await after.verify(old)).toBeNull();
    expect(during.jwks().keys.map(({ kid }) => kid)).toEqual([
      signingKeyId(otherKey),
      signingKeyId(key),
    ]);
  });
});
