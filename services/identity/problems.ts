import { Problem } from '#services/platform/problem.ts';
import type { ProblemExtras, Refused } from '#services/platform/problem.ts';
import { identityProblems } from './refusals.ts';
import type { IdentityProblem } from './refusals.ts';

/** A refusal of the table that browser and server share. */
export function identityProblem(code: IdentityProblem, extras: ProblemExtras = {}): Problem {
  const refusal: { title: string; message: string; detail?: string } = identityProblems[code];
  const { title, message, detail = message } = refusal;
  return new Problem(...refused(code), message, { title, detail, ...extras });
}

type Named = {
  [Code in IdentityProblem]: [status: (typeof identityProblems)[Code]['status'], code: Code];
}[IdentityProblem];

/** Compiles while the description has every code of the table at its status. */
function refused(code: IdentityProblem): Refused {
  return [identityProblems[code].status, code] as Named;
}
