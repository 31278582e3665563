import { describe, expect, it } from 'vitest';
import { identityProblems } from '#services/identity/refusals.ts';
import { takenFrom } from '#web/features/identity/sessions/arrival.ts';
import {
  confirmationFailed,
  confirmationInvalid,
  planOf,
} from '#web/features/identity/links/confirmation.ts';

const taken = (path: string) => takenFrom(new URL(path, 'https://sevenfold.example'));

describe('an address that carries a secret', () => {
  it.each([
    ['/auth/link/magic#secret', '/auth/link/magic', '/auth/link/magic', { token: 'secret' }],
    ['/auth/link/undo/#secret', '/auth/link/undo/', '/auth/link/undo', { token: 'secret' }],
    [
      '/reset-password?reason=confirmed#secret',
      '/reset-password?reason=confirmed',
      '/reset-password',
      { token: 'secret' },
    ],
    [
      '/auth/confirm?confirmed=true&access_token=a&refresh_token=r',
      '/auth/confirm?confirmed=true',
      '/auth/confirm',
      { access_token: 'a', refresh_token: 'r' },
    ],
    [
      '/#access_token=a&refresh_token=r&redirect=%2Fcredits',
      '/',
      '/',
      { access_token: 'a', refresh_token: 'r', redirect: '/credits' },
    ],
    ['/?access_token=a&type=magiclink', '/', '/', { access_token: 'a', type: 'magiclink' }],
    ['/?code=abc', '/', '/', { code: 'abc' }],
    ['/?error=access_denied#pricing', '/', '/', { error: 'access_denied', pricing: '' }],
  ])('the address %s becomes %s', (path, address, page, values) => {
    expect(taken(path)).toEqual({ address, arrival: { path: page, values } });
  });

  it.each([
    '/',
    '/#pricing',
    '/?utm_source=x#features',
    '/auth/confirm?confirmed=true',
    '/auth/link/magic',
    '/reset-password',
    '/optimizations/opt_1?code=1#claims',
    '/terms#failed-runs',
  ])('the address %s has no secret and stays', (path) => {
    expect(taken(path)).toEqual({ address: path, arrival: null });
  });

  it('empty and misplaced parameters are dropped', () => {
    expect(taken('/auth/confirm?confirmed=true&access_token=#access_token=a')).toEqual({
      address: '/auth/confirm?confirmed=true',
      arrival: null,
    });
  });
});

describe('what /auth/confirm does', () => {
  const arrival = { path: '/auth/confirm', values: { access_token: 'a', refresh_token: 'r' } };
  const nothing = { confirmed: undefined, error: undefined, arrival: null };

  it('a confirmed address signs in with its tokens', () => {
    expect(planOf({ ...nothing, confirmed: 'true', arrival })).toEqual({
      do: 'exchange',
      access: 'a',
      refresh: 'r',
    });
  });

  it('a confirmation without both tokens uses an existing session', () => {
    expect(planOf({ ...nothing, confirmed: 'true' })).toEqual({ do: 'restore' });
    const half = { path: '/auth/confirm', values: { access_token: 'a' } };
    expect(planOf({ ...nothing, confirmed: 'true', arrival: half })).toEqual({ do: 'restore' });
  });

  it('a known error gets its own sentence, and no error is repeated verbatim', () => {
    const refusal = (error: string) => planOf({ confirmed: 'true', error, arrival });
    expect(refusal('link-expired')).toEqual({
      do: 'refuse',
      sentence: identityProblems['link-expired'].message,
    });
    for (const foreign of ['Call 0800 12345', 'constructor', '__proto__', '']) {
      expect(refusal(foreign)).toEqual({ do: 'refuse', sentence: confirmationFailed });
    }
  });

  it.each([undefined, 'false', '1'])('confirmed=%s is no confirmation', (confirmed) => {
    expect(planOf({ ...nothing, confirmed, arrival })).toEqual({
      do: 'refuse',
      sentence: confirmationInvalid,
    });
  });
});
