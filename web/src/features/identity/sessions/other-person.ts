import type { User } from '#services/identity/contract.ts';

/** Whether the address that a link leads to is not this person's. */
export function isSomebodyElse(
  { email }: Pick<User, 'email'>,
  linked: string | undefined,
): boolean {
  return linked !== undefined && linked !== email;
}
