import type { User } from '#services/identity/contract/session.ts';

/** Whether a link leads to another account than this one. */
export function isOtherUser({ email }: Pick<User, 'email'>, linked: string | undefined): boolean {
  return linked !== undefined && linked !== email;
}
