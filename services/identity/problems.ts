import { Problem } from '#services/platform/problem.ts';
import type { ProblemExtras } from '#services/platform/problem.ts';
import { identityProblems } from './refusals.ts';
import type { IdentityProblem } from './refusals.ts';

/** A refusal of the table that browser and server share. */
export function identityProblem(code: IdentityProblem, extras: ProblemExtras = {}): Problem {
  const refusal: { title: string; message: string; detail?: string } = identityProblems[code];
  const { title, message, detail = message } = refusal;
  return new Problem(code, message, { title, detail, ...extras });
}
