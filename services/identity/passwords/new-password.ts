import type { Problem } from '#services/platform/problem.ts';
import { isTooCommon } from './blocklist.ts';
import { fieldSentences } from '#services/identity/contract/forms.ts';
import { identityProblem } from '#services/identity/problems.ts';
import type { Account } from '#services/identity/accounts/users.ts';

/** The refusals that have a code of their own, and the fields that they are about. */
const namedRefusals = [
  ['invalid-email', ['email']],
  ['password-too-short', ['password', 'new_password']],
  ['password-too-weak', ['password', 'new_password']],
] as const;

/**
 * A request with an address or a new password: an error in one of these fields has a code, a title and
 * a sentence of its own. The first wrong field decides. The sentences of all fields are in `errors`.
 */
export function namedRefusal(problem: Problem): Problem {
  if (problem.code !== 'validation') return problem;
  const errors = problem.extras.errors ?? [];
  const first = errors[0];
  for (const [code, fields] of namedRefusals)
    if (first?.message === fieldSentences[code] && fields.some((field) => field === first.field))
      return identityProblem(code, { errors });
  return problem;
}

/** @throws Problem 400 `password-too-weak` for one that attackers try first */
export function refuseCommonPassword(
  password: string,
  person: Pick<Account, 'name' | 'email'>,
  { productName, field }: { productName: string; field: 'password' | 'new_password' },
): void {
  if (!isTooCommon(password, [person.name, person.email, productName])) return;
  const message = 'This password is among the first that others would try. Choose another one.';
  throw identityProblem('password-too-weak', { errors: [{ field, message }] });
}
