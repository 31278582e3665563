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
  it('are fine when both have three parts, can be read and have not ended', () => {
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
  ])('%j as the access token: %s', (access, sentence) => {
    expect(tokenErrors({ access, refresh: good }, now)).toEqual([sentence]);
  });

  it.each([
    [undefined, 'Refresh token is missing'],
    ['one', 'Refresh token has invalid JWT structure'],
    ['a.b.c', 'Refresh token payload cannot be decoded'],
  ])('%j as the refresh token: %s', (refresh, sentence) => {
    expect(tokenErrors({ access: good, refresh }, now)).toEqual([sentence]);
  });

  it('leaves the end of the refresh token to the server', () => {
    expect(tokenErrors({ access: good, refresh: token({ exp: 1 }) }, now)).toEqual([]);
  });

  it('puts every error into one sentence', () => {
    const errors = tokenErrors({ access: undefined, refresh: 'x' }, now);
    expect(invalidTokens(errors)).toBe(
      'Invalid tokens: Access token is missing, Refresh token has invalid JWT structure',
    );
  });

  it('answers for any text, and repeats none of it', () => {
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
