import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ownPath } from '#services/identity/contract/forms.ts';
import { safeReturnPath } from '#web/features/identity/sessions/return-path.ts';

const origin = 'https://sevenfold.example';

describe('the way back after signing in', () => {
  it('a path of this site is kept with its query and fragment', () => {
    expect(safeReturnPath('/optimizations/opt_1?tab=votes#claims', origin)).toBe(
      '/optimizations/opt_1?tab=votes#claims',
    );
  });

  it.each([
    undefined,
    '',
    'dashboard',
    'https://evil.example/',
    '//evil.example',
    '/.//evil.example',
    '/a/..//evil.example',
    '/\\evil.example',
    '/\t/evil.example',
    '/%5C/../\\evil.example',
    'javascript:alert(1)',
    '/login',
    '/signup?redirect=/login',
    '/forgot-password',
    '/reset-password?reason=undone',
    '/auth/confirm?confirmed=true',
    '/',
  ])('the parameter %j leads to the dashboard', (candidate) => {
    expect(safeReturnPath(candidate, origin)).toBe('/dashboard');
  });

  it('every page of this site counts as its own, including the sign-in pages', () => {
    expect(ownPath('/#access_token=a&refresh_token=b', origin)).toBe(
      '/#access_token=a&refresh_token=b',
    );
    expect(ownPath('/auth/confirm?confirmed=true', origin)).toBe('/auth/confirm?confirmed=true');
    expect(ownPath('//evil.example', origin)).toBeNull();
    expect(ownPath('https://sevenfold.example/', origin)).toBeNull();
  });

  it('no parameter leads to another site', () => {
    const hostile = fc.oneof(
      fc.string(),
      fc.string({
        unit: fc.constantFrom('/', '\\', '\t', '\n', '.', '@', ':', 'e', '%', '#', '?'),
      }),
    );
    fc.assert(
      fc.property(hostile, (candidate) => {
        const path = safeReturnPath(candidate, origin);
        expect(path).toMatch(/^\/(?!\/)/);
        expect(new URL(path, origin).origin).toBe(origin);
      }),
      { numRuns: 2_000 },
    );
  });
});
