import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { invalidTokens, tokenErrors } from '#web/features/identity/sessions/token-checks.ts';

const now = Date.parse('2026-11-20T12:00:00.000Z');
const seconds = now / 1000;

function token(payload: unknown, header: unknown = { alg: 'EdDSA' }): string {
  const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  return `${part(header)}.${part(payload)}.c2lnbmF0dXJl`;
}

const good = token({ exp: seconds + 60, name: 'Żaneta' });

describe('the tokens of a sign-in link', () => {
  it('two tokens are valid with three readable parts and no expiry in the past', () => {
    expect(tokenErrors({ access: good, refresh: good }, now)).toEqual([]);
  });

  it.each([
    [undefined, 'Access token is missing'],
    ['', 'Access token is missing'],
    ['one.two', 'Access token has invalid JWT structure'],
    ['a.b.c.d', 'Access token has invalid JWT structure'],
    ['a..c', 'Access token has invalid JWT structure'],
    ['a.b+/=.c', 'Access token has invalid JWT structure'],
    ['a.b.c', 'Access token payload cannot be decoded'],
    [
      `a.${Buffer.from('no json').toString('base64url')}.c`,
      'Access token payload cannot be decoded',
    ],
    [token('a string'), 'Access token payload cannot be decoded'],
    [token(null), 'Access token payload cannot be decoded'],
    [token({ exp: seconds }), 'Access token is expired'],
    [token({ exp: seconds - 3600 }), 'Access token is expired'],
  ])('the access token %j is reported as: %s', (access, sentence) => {
    expect(tokenErrors({ access, refresh: good }, now)).toEqual([sentence]);
  });

  it.each([
    [undefined, 'Refresh token is missing'],
    ['one', 'Refresh token has invalid JWT structure'],
    ['a.b.c', 'Refresh token payload cannot be decoded'],
  ])('the refresh token %j is reported as: %s', (refresh, sentence) => {
    expect(tokenErrors({ access: good, refresh }, now)).toEqual([sentence]);
  });

  it('the expiry of the refresh token is left to the server', () => {
    expect(tokenErrors({ access: good, refresh: token({ exp: 1 }) }, now)).toEqual([]);
  });

  it('all errors are combined in one sentence', () => {
    const errors = tokenErrors({ access: undefined, refresh: 'x' }, now);
    expect(invalidTokens(errors)).toBe(
      'Invalid tokens: Access token is missing, Refresh token has invalid JWT structure',
    );
  });

  it('any text gets an answer that repeats none of it', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 12 }), fc.string({ minLength: 12 }), (access, refresh) => {
        const errors = tokenErrors({ access, refresh }, now);
        expect(errors).toHaveLength(2);
        expect(errors.join(' ')).not.toContain(access);
      }),
      { numRuns: 500 },
    );
  });
});
