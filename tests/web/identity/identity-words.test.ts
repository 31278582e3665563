import { describe, expect, it } from 'vitest';
import { maskedEmail } from '#services/identity/contract/forms.ts';
import { identityProblems } from '#services/identity/refusals.ts';
import { problems } from '#services/platform/problems.ts';
import { ApiProblem } from '#web/api/api.ts';
import { sentenceOfCode } from '#web/features/identity/error-sentence.ts';
import { mailboxOf } from '#web/features/identity/mailbox.ts';
import { signupFieldErrors, signupRefusal } from '#web/features/identity/signup-refusal.ts';

type Fields = ConstructorParameters<typeof ApiProblem>[0];
const refused = (code: string, status: number, message: string, rest: Partial<Fields> = {}) =>
  new ApiProblem({ code, status, message, ...rest });

describe('a refused sign-up', () => {
  it.each(['email-in-use', 'invalid-email', 'password-too-short', 'password-too-weak'] as const)(
    '%s is shown with its specified title and detail',
    (code) => {
      const { title, detail } = identityProblems[code];
      expect(signupRefusal(refused(code, problems[code], detail, { title }))).toEqual({
        title,
        detail,
      });
    },
  );

  it.each([
    [
      refused('password-on-a-list', 400, 'This password is on lists.'),
      'Password error',
      'This password is on lists.',
    ],
    [
      refused('rate-limited', 429, 'rate limit', { retryAfterSeconds: 30 }),
      'Too many attempts',
      'Please try again in 30 seconds.',
    ],
    [
      refused('rate-limited', 429, 'rate limit'),
      'Too many attempts',
      'Please wait a moment before trying again.',
    ],
    [
      refused('network', 0, 'Network error occurred'),
      'Connection error',
      'Please check your internet connection and try again.',
    ],
    [
      refused('unreadable-reply', 0, 'Network error occurred'),
      'Sign up failed',
      'Signup completed but user session is invalid',
    ],
    [refused('internal', 500, 'Database insert timeout'), 'Sign up failed', 'Please try again.'],
    [refused('closed', 403, 'Sign-ups are closed.'), 'Sign up failed', 'Sign-ups are closed.'],
    [new TypeError('x is not a function'), 'Sign up failed', 'Please try again.'],
  ])('the failure %s is shown as "%s: %s"', (failure, title, detail) => {
    expect(signupRefusal(failure)).toEqual({ title, detail });
  });

  it('a refusal is shown beside its field, in the words for the field if there are any', () => {
    const title = 'Email already in use';
    expect(signupFieldErrors(refused('email-in-use', 409, 'Registered.', { title }))).toEqual({
      email: title,
    });
    const errors = [{ field: 'password', message: 'Many people use this password.' }];
    expect(signupFieldErrors(refused('password-too-weak', 400, 'Weak.', { errors }))).toEqual({
      password: 'Many people use this password.',
    });
    expect(signupFieldErrors(refused('internal', 500, 'Oops'))).toEqual({});
    const terms = [{ field: 'terms_version', message: 'The terms have changed.' }];
    expect(signupFieldErrors(refused('validation', 400, 'No.', { errors: terms }))).toEqual({
      terms: 'The terms have changed.',
    });
  });
});

describe('a code in an address', () => {
  it('a known code has a sentence', () => {
    expect(sentenceOfCode('link-used')).toBe('This link was already used. Ask for a new one.');
    expect(sentenceOfCode('otp_expired')).toBe(identityProblems['link-expired'].message);
  });

  it.each([undefined, '', 'toString', '__proto__', '<b>hello</b>', 'Link-Used'])(
    'the code %j has no sentence',
    (code) => expect(sentenceOfCode(code)).toBeNull(),
  );
});

describe('an address to be confirmed', () => {
  it.each([
    ['ada@example.com', 'a•••@example.com'],
    ['"a@b"@example.com', '"•••@example.com'],
    ['nonsense', '•••'],
  ])('the address %s is shown as %s', (email, masked) => {
    expect(maskedEmail(email)).toBe(masked);
  });

  it('an address of a known provider has a mailbox to open', () => {
    expect(mailboxOf('ada@GMAIL.com')?.url).toBe('https://mail.google.com/');
    expect(mailboxOf('ada@example.com')).toBeNull();
    expect(mailboxOf('ada@gmail.com.example.com')).toBeNull();
  });
});
