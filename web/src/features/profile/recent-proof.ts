import { ApiProblem } from '#web/api/api.ts';

/** Whether the server wants a recent proof of identity, which a password gives (`PasswordGate`). */
export function wantsProof(error: unknown): boolean {
  return error instanceof ApiProblem && error.code === 'reauthentication-required';
}

/** What helps an account without a password. */
export const proofWithoutPassword =
  'This account has no password. Sign in with a new link or choose a password above, then try again.';
