import fc from 'fast-check';
import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import { LoginForm, passwordRules, SignupForm } from '#services/identity/contract/forms.ts';
import { ApiProblem } from '#web/api/api.ts';
import { failureSentence } from '#web/features/identity/form-failure.tsx';
import { greeting } from '#web/features/dashboard/greeting.ts';
import { parseDisplay } from '#web/ui/display.ts';

const complete = {
  name: ' Ada Example ',
  email: 'ada@example.com',
  password: 'Correct1horse',
  confirmPassword: 'Correct1horse',
  terms: true,
};

function errorsOf(schema: v.GenericSchema, form: unknown): Record<string, string | undefined> {
  const result = v.safeParse(schema, form);
  if (result.success) return {};
  const { nested } = v.flatten(result.issues);
  return Object.fromEntries(
    Object.entries(nested ?? {}).map(([field, messages]) => [field, messages?.[0]]),
  );
}

describe('the sign-up form', () => {
  it('a complete sign-up form is accepted and its name trimmed', () => {
    expect(v.parse(SignupForm, complete).name).toBe('Ada Example');
  });

  it.each([
    [{ name: '  ' }, 'name', 'Full name is required'],
    [{ name: ' A ' }, 'name', 'Name must be at least 2 characters'],
    [{ email: '' }, 'email', 'Email is required'],
    [{ email: 'ada@' }, 'email', 'Please enter a valid email address'],
    [{ password: '' }, 'password', 'Password is required'],
    [{ password: 'Short1' }, 'password', 'Password must be at least 8 characters'],
    [
      { password: 'nouppercase1' },
      'password',
      'Password must contain at least one uppercase letter, one lowercase letter, and one number',
    ],
    [{ confirmPassword: '' }, 'confirmPassword', 'Please confirm your password'],
    [{ confirmPassword: 'Correct1horsf' }, 'confirmPassword', 'Passwords do not match'],
    [{ terms: false }, 'terms', 'You must accept the Terms of Service and Privacy Policy'],
  ])('the sign-up value %j beside %s is answered with: %s', (change, field, sentence) => {
    expect(errorsOf(SignupForm, { ...complete, ...change })[field]).toBe(sentence);
  });

  it('every field of an empty sign-up form is named at once', () => {
    const empty = { name: '', email: '', password: '', confirmPassword: '', terms: false };
    expect(Object.keys(errorsOf(SignupForm, empty)).toSorted()).toEqual(
      Object.keys(empty).toSorted(),
    );
  });

  it('the checklist is complete exactly when the password is accepted', () => {
    const password = fc.string({
      unit: fc.constantFrom('a', 'Z', '7', 'é', '日', ' ', '!'),
      maxLength: 12,
    });
    fc.assert(
      fc.property(password, (text) => {
        const accepted = !('password' in errorsOf(SignupForm, { ...complete, password: text }));
        expect(passwordRules.every((rule) => rule.met(text))).toBe(accepted);
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('the login form', () => {
  it.each([
    [{ email: '', password: 'secret1' }, 'email', 'Email is required'],
    [{ email: 'ada', password: 'secret1' }, 'email', 'Please enter a valid email address'],
    [{ email: 'ada@example.com', password: '' }, 'password', 'Password is required'],
    [
      { email: 'ada@example.com', password: 'five5' },
      'password',
      'Password must be at least 6 characters',
    ],
  ])('the login value %j beside %s is answered with: %s', (form, field, sentence) => {
    expect(errorsOf(LoginForm, form)[field]).toBe(sentence);
  });
});

describe('the banner of a refused form', () => {
  const refused = (
    status: number,
    code: string,
    message: string,
    retryAfterSeconds: number | null = null,
  ) => failureSentence(new ApiProblem({ status, code, message, retryAfterSeconds }), 'Try again.');

  it('the banner repeats a sentence that the server wrote for users', () => {
    expect(refused(401, 'wrong-credentials', 'Login failed. Please check your credentials.')).toBe(
      'Login failed. Please check your credentials.',
    );
  });

  it('the banner hides internal causes', () => {
    expect(refused(500, 'internal', 'Database insert timeout')).toBe('Try again.');
    expect(failureSentence(new TypeError('x is not a function'), 'Try again.')).toBe('Try again.');
  });

  it('the banner says how long to wait', () => {
    expect(refused(429, 'rate-limited', 'rate limit', 42)).toBe(
      'Too many attempts. Please try again in 42 seconds.',
    );
    expect(refused(429, 'rate-limited', 'rate limit', 3_600)).toBe(
      'Too many attempts. Please try again in 60 minutes.',
    );
    expect(refused(429, 'rate-limited', 'rate limit')).toBe(
      'Too many attempts. Please wait a moment before trying again.',
    );
  });
});

describe('small words', () => {
  it('the greeting uses the clock and the first word of the name', () => {
    const at = (hour: number): Date => new Date(2026, 10, 20, hour);
    expect(greeting('Ada Example', at(11))).toBe('Good morning, Ada');
    expect(greeting('Ada', at(12))).toBe('Good afternoon, Ada');
    expect(greeting(' ', at(18))).toBe('Good evening, there');
  });

  it('the theme is read from the cookies, and unknown values are ignored', () => {
    expect(parseDisplay('theme', 'a=b; sf_theme=dark; c=d')).toBe('dark');
    expect(parseDisplay('theme', 'sf_theme=light')).toBe('light');
    expect(parseDisplay('theme', '')).toBe('system');
    expect(parseDisplay('theme', 'sf_theme=pink')).toBe('system');
    expect(parseDisplay('theme', 'not_sf_theme=dark')).toBe('system');
  });
});
